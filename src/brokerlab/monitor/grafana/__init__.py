"""Dashboards for Grafana, made from the table of metrics; with what makes a Grafana find them."""
