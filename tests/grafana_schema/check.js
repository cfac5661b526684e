// node check.js SCHEMAS FILE...: prints, as JSON, what is wrong with each dashboard by Grafana's own types.
const fs = require("fs");
const path = require("path");
const Ajv = require("ajv");

const [folder, ...files] = process.argv.slice(2);
const ajv = new Ajv({ strict: false, allErrors: true });
const schema = (name) => ajv.compile(JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), "utf8")));
const [dashboard, options, custom] = ["Dashboard", "Options", "FieldConfig"].map(schema);

const wrong = [];
function check(validate, value, file, where) {
  if (!validate(value)) {
    for (const e of validate.errors) wrong.push(`${path.basename(file)} ${where}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
  }
}
for (const file of files) {
  const document = JSON.parse(fs.readFileSync(file, "utf8"));
  check(dashboard, document, file, "");
  for (const panel of document.panels ?? []) {
    check(options, panel.options, file, `panel ${panel.id} options`);
    check(custom, panel.fieldConfig?.defaults?.custom, file, `panel ${panel.id} custom`);
  }
}
console.log(JSON.stringify(wrong));
