/* What both sides of the border must agree on, and what is fatal on this one. */
#include "brokerlab.h"
#include <stdlib.h>
#include <string.h>

/* The loader compares these with what it made of border.h, and the ledgers with their lists. */
void bl_read_shape(bl_shape *to) {
    *to = (bl_shape){
        .header_bytes = BL_HEADER_BYTES,
        .counters = BL_COUNTERS,
        .measures = BL_MEASURES,
        .buckets = BL_BUCKETS,
        .reports_most = BL_REPORTS_MOST,
        .sender_bytes = sizeof(bl_sender),
        .outcome_row_bytes = sizeof(bl_outcome_row),
        .sequence_row_bytes = sizeof(bl_sequence_row),
        .message_row_bytes = sizeof(bl_message_row),
    };
}

char *bl_copied(const char *text) {
    char *copy = strdup(text);
    if (!copy) abort();
    return copy;
}
