"""broker.xml."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from brokerlab.brokers.activemq.beans import STORE
from brokerlab.brokers.activemq.settings import store_settings
from brokerlab.brokers.kit.certificates import KEY_STORE_PASSWORD
from brokerlab.brokers.kit.wire import credentials
from brokerlab.model.plan import CellPlan

_SPRING = "http://www.springframework.org/schema/beans"
_ACTIVEMQ = "http://activemq.apache.org/schema/core"


def broker_xml(name: str, cell: CellPlan, data: Path, port: int, key_store: Path | None) -> str:
    """There may be a password in it. The store is a bean of its own, so that it can be exported for reading back."""
    store = _attributes({"directory": str(data / "kahadb"), **store_settings(cell)})
    scheme = "stomp" if key_store is None else "stomp+ssl"
    return f"""<beans xmlns="{_SPRING}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="{_SPRING} {_SPRING}/spring-beans.xsd {_ACTIVEMQ} {_ACTIVEMQ}/activemq-core.xsd">
  <kahaDB xmlns="{_ACTIVEMQ}" id="store" {store}/>
  <broker xmlns="{_ACTIVEMQ}" persistenceAdapter="#store" {_attributes({"brokerName": name, "dataDirectory": str(data)})}>
    <managementContext><managementContext createConnector="false"/></managementContext>
    {_users(cell)}{_tls(key_store)}
    <systemUsage><systemUsage>
      <memoryUsage><memoryUsage percentOfJvmHeap="70"/></memoryUsage>
    </systemUsage></systemUsage>
    <transportConnectors><transportConnector name="stomp" uri="{scheme}://127.0.0.1:{port}"/></transportConnectors>
  </broker>
  <bean class="org.springframework.jmx.export.MBeanExporter">
    <property name="beans"><map><entry key="{STORE}" value-ref="store"/></map></property>
  </bean>
</beans>
"""


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in values.items())


def _users(cell: CellPlan) -> str:
    user, password = credentials(cell.security)
    if not user:
        return ""
    values = {"username": _literal(user), "password": _literal(password), "groups": "all"}
    given = "".join(f"<property {_attributes({'name': name, 'value': value})}/>" for name, value in values.items())
    one = f'<bean xmlns="{_SPRING}" class="org.apache.activemq.security.AuthenticationUser">{given}</bean>'
    return f"<plugins><simpleAuthenticationPlugin><users>{one}</users></simpleAuthenticationPlugin></plugins>"


def _literal(text: str) -> str:
    """Spring evaluates what looks like an expression, and ActiveMQ takes `#name` for a reference: neither sees the text."""
    encoded = base64.b64encode(text.encode()).decode()
    return f"#{{new String(T(java.util.Base64).getDecoder().decode('{encoded}'), 'UTF-8')}}"


def _tls(key_store: Path | None) -> str:
    if key_store is None:
        return ""
    store = {"keyStore": f"file:{key_store}", "keyStorePassword": KEY_STORE_PASSWORD, "keyStoreType": "PKCS12"}
    return f"<sslContext><sslContext {_attributes(store)}/></sslContext>"
