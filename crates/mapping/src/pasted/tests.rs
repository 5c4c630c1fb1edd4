use proptest::prelude::*;
use tresse_base::units::Mac;

use super::*;
use crate::table::Learned;

fn read_all(text: &str) -> SwitchTable {
    read("s1", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn heard(table: &SwitchTable) -> Vec<(&str, &str, Vec<&str>, Option<bool>)> {
    table
        .neighbours
        .iter()
        .map(|n| (&*n.port, n.device(), n.far.iter().map(String::as_str).collect(), n.bridge))
        .collect()
}

fn learned(table: &SwitchTable) -> Vec<(&str, String, Option<u16>)> {
    table
        .learned
        .iter()
        .map(|Learned { port, mac, vid }| (&**port, mac.to_string(), *vid))
        .collect()
}

/// lldpd 1.0.16 on a bridge with three ports, one of which leads to a station without a name.
const LLDPCLI: &str = r#"{ "lldp": { "interface": [
  { "p1": { "via": "LLDP", "rid": "1", "age": "0 day, 00:00:04",
    "chassis": { "swa": { "id": { "type": "mac", "value": "22:3e:b1:04:72:d6" },
      "capability": [ { "type": "Bridge", "enabled": true }, { "type": "Wlan", "enabled": false } ] } },
    "port": { "id": { "type": "mac", "value": "12:37:8d:51:3c:02" }, "descr": "p2", "ttl": "4" } } },
  { "p3": { "chassis": { "id": { "type": "local", "value": "n7" } },
    "port": { "id": { "type": "mac", "value": "02:54:00:00:07:00" } } } } ] } }"#;

#[test]
fn lldpcli_in_all_its_forms() {
    let table = read_all(LLDPCLI);
    let first = ("p1", "swa", vec!["12:37:8d:51:3c:02", "p2"], Some(true));
    assert_eq!(heard(&table), [first.clone(), ("p3", "n7", vec!["02:54:00:00:07:00"], None)]);
    assert!(table.lldp && !table.fdb);
    // One neighbour is no list; none is nothing.
    let one = r#"{"lldp":{"interface":{"p1":{"chassis":{"swa":{"id":{"type":"mac","value":"22:3e:b1:04:72:d6"},
        "capability":{"type":"Bridge","enabled":true}}},"port":{"id":{"type":"mac","value":"12:37:8d:51:3c:02"},"descr":"p2"}}}}}"#;
    assert_eq!(heard(&read_all(one)), std::slice::from_ref(&first));
    let none = read_all("{\n  \"lldp\": {\n  }\n}\n");
    assert!(none.lldp && none.neighbours.is_empty());
    let json0 = r#"{"lldp":[{"interface":[{"name":"p1","via":"LLDP","chassis":[{"id":[{"type":"mac","value":"22:3e:b1:04:72:d6"}],
        "name":[{"value":"swa"}],"capability":[{"type":"Bridge","enabled":true}]}],"port":[{"id":[{"type":"mac",
        "value":"12:37:8d:51:3c:02"}],"descr":[{"value":"p2"}]}]}]}]}"#;
    assert_eq!(heard(&read_all(json0)), std::slice::from_ref(&first));
    let text = "admin@s1:~$ lldpcli show neighbors\n\
        -------------------------------------------------------------------------------\nLLDP neighbors:\n\
        -------------------------------------------------------------------------------\n\
        Interface:    p1, via: LLDP, RID: 1, Time: 0 day, 00:00:04\n  Chassis:     \n\
        \x20   ChassisID:    mac 22:3e:b1:04:72:d6\n    SysName:      swa\n    SysDescr:     A system: with colons\n\
        \x20   Capability:   Bridge, on\n    Capability:   Router, off\n  Port:        \n\
        \x20   PortID:       mac 12:37:8d:51:3c:02\n    PortDescr:    p2\n    TTL:          4\n";
    assert_eq!(heard(&read_all(text)), [first]);
}

#[test]
fn forwarding_tables_of_linux() {
    let text = "02:54:00:00:00:01 dev p1 vlan 100 master br0 \n02:54:00:00:00:01 dev p1 master br0 extern_learn\n\
        02:3f:31:e2:e4:c8 dev p1 master br0 permanent\n33:33:00:00:00:01 dev p1 self permanent\n\
        02:54:00:00:00:09 dev vxlan0 dst 10.0.0.1 self\n";
    let json = r#"[{"mac":"02:54:00:00:00:01","ifname":"p1","vlan":100,"flags":[],"master":"br0","state":""},
        {"mac":"02:54:00:00:00:01","ifname":"p1","flags":["extern_learn"],"master":"br0","state":""},
        {"mac":"02:3f:31:e2:e4:c8","ifname":"p1","flags":[],"master":"br0","state":"permanent"},
        {"mac":"33:33:00:00:00:01","ifname":"p1","flags":["self"],"state":"permanent"},
        {"mac":"02:54:00:00:00:09","ifname":"vxlan0","dst":"10.0.0.1","flags":["self"],"state":""}]"#;
    for table in [read_all(text), read_all(json)] {
        let mac = "02:54:00:00:00:01".to_owned();
        assert_eq!(learned(&table), [("p1", mac.clone(), Some(100)), ("p1", mac, None)]);
        assert_eq!(table.own[&"02:3f:31:e2:e4:c8".parse::<Mac>().unwrap()], "p1");
        assert_eq!(table.own.len(), 1);
    }
    let both = read_all(&format!("# both\n{LLDPCLI}\n{json}"));
    assert!(both.lldp && both.fdb && both.neighbours.len() == 2 && both.learned.len() == 2);
    let ovs = " port  VLAN  MAC                Age\n    1   100  02:54:00:00:00:01    3\nLOCAL     0  02:54:00:00:00:02   0\n";
    assert_eq!(learned(&read_all(ovs)), [("1", "02:54:00:00:00:01".to_owned(), Some(100))]);
}

#[test]
fn ios() {
    let table = read_all(
        "s1#show lldp neighbors\nCapability codes:\n    (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n\n\
         Device ID           Local Intf     Hold-time  Capability      Port ID\n\
         s2                  Gi1/0/23       120        B               Gi1/0/24\n\
         a-switch-with-a-longGi1/0/22       120        B,R             Te1/1\n\
         A phone of the desk Gi1/0/2        120        T               0254.0000.0007\n\nTotal entries displayed: 3\n",
    );
    assert_eq!(
        heard(&table),
        [
            ("Gi1/0/23", "s2", vec!["Gi1/0/24"], Some(true)),
            ("Gi1/0/22", "a-switch-with-a-long", vec!["Te1/1"], Some(true)),
            ("Gi1/0/2", "A phone of the desk", vec!["0254.0000.0007"], Some(false)),
        ]
    );
    let table = read_all(
        "------------------------------------------------\nLocal Intf: Gi1/0/2\nChassis id: 0254.0000.00aa\nPort id: 502\n\
         Port Description: ge-0/0/0.0\nSystem Name - not advertised\n\nSystem Description:\nA text: and more\n\n\
         Time remaining: 116 seconds\nSystem Capabilities: B,R\nEnabled Capabilities: B\nVlan ID: 1\n\n\
         ------------------------------------------------\nLocal Intf: Gi1/0/1\nChassis id: 0254.0000.00bb\n\
         Port id: Gi1/0/7\nPort Description: GigabitEthernet1/0/7\nSystem Name: s3.lab\n\nTotal entries displayed: 2\n",
    );
    assert_eq!(
        heard(&table),
        [
            ("Gi1/0/2", "0254.0000.00aa", vec!["502", "ge-0/0/0.0"], Some(true)),
            ("Gi1/0/1", "s3.lab", vec!["Gi1/0/7", "GigabitEthernet1/0/7"], None),
        ]
    );
    let older = "Destination Address  Address Type  VLAN  Destination Port\n-------------------  ------------  ----  -----\n\
                 0254.0000.0001       Dynamic          7  FastEthernet0/1\n";
    let table = read_all(older);
    assert_eq!(learned(&table), [("FastEthernet0/1", "02:54:00:00:00:01".to_owned(), Some(7))]);
    let newer = "          Mac Address Table\n\nVlan    Mac Address       Type        Ports\n----    -----------       ---     -----\n\
                 All    0100.0ccc.cccc    STATIC      CPU\n 100    0254.0000.0001    DYNAMIC     Gi1/0/1\n";
    assert_eq!(learned(&read_all(newer)), [("Gi1/0/1", "02:54:00:00:00:01".to_owned(), Some(100))]);
    let chassis = "  vlan   mac address     type    learn     age              ports\n------+----------------+--------+\n\
                   *  666  0254.0000.0001   dynamic  Yes       1200   Te1/30\n*  777  0254.0000.0167    static  No           -   Router\n";
    let table = read_all(chassis);
    assert_eq!(learned(&table), [("Te1/30", "02:54:00:00:00:01".to_owned(), Some(666))]);
    assert_eq!(table.own.len(), 1);
}

#[test]
fn eos() {
    let wanted = ("Ethernet1", "s2.lab", vec!["Ethernet2"]);
    let three = |table: &SwitchTable| {
        let all = heard(table).into_iter();
        assert_eq!(
            all.map(|(p, d, f, _)| (p, d, f)).collect::<Vec<_>>(),
            std::slice::from_ref(&wanted)
        );
    };
    three(&read_all(
        "Last table change time   : 0:00:02 ago\n\nPort            Neighbor Device ID       Neighbor Port ID    TTL\n\
         --------------- ------------------------ ---------------- ------\n\
         Ethernet1       s2.lab                   Ethernet2           120\n",
    ));
    three(&read_all(
        "Interface Ethernet1 detected 1 LLDP neighbors:\n\n  Neighbor 0254.0000.00aa/\"Ethernet2\", age 12 seconds\n\
         \x20 - Chassis ID type: MAC address (4)\n    Chassis ID     : 0254.0000.00aa\n  - Port ID type: Interface name (5)\n\
         \x20   Port ID     : \"Ethernet2\"\n  - System Name: \"s2.lab\"\n  - System Description: \"Arista: EOS\"\n\
         \x20   Enabled Capabilities: Bridge, Router\n  - IEEE802.1/IEEE802.3 Link Aggregation\n    Port ID                : 0\n\
         Interface Ethernet3 detected 0 LLDP neighbors:\n",
    ));
    three(&read_all(
        r#"{"tablesLastChangeTime":1.0,"lldpNeighbors":[{"port":"Ethernet1","neighborDevice":"s2.lab","neighborPort":"Ethernet2","ttl":120}]}"#,
    ));
    let both = format!(
        "{}\n{}",
        r#"{"lldpNeighbors":{"Ethernet1":{"lldpNeighborInfo":[{"systemName":"s2.lab","chassisId":"0254.0000.00aa",
            "neighborInterfaceInfo":{"interfaceId_v2":"Ethernet2"},"systemCapabilities":{"bridge":true}}]}}}"#,
        r#"{"unicastTable":{"tableEntries":[{"vlanId":100,"macAddress":"02:54:00:00:00:01","interface":"Ethernet7","entryType":"dynamic"}]}}"#
    );
    let table = read_all(&both);
    three(&table);
    let station = [("Ethernet7", "02:54:00:00:00:01".to_owned(), Some(100))];
    assert_eq!(learned(&table), station);
    let text = "          Mac Address Table\n------------------------------------------------------------------\n\n\
                Vlan    Mac Address       Type        Ports      Moves   Last Move\n----    -----------       ----        -----      -----   ---------\n\
                 100    0254.0000.0001    DYNAMIC     Ethernet7        1       9 days, 15:57:28 ago\nTotal Mac Addresses for this criterion: 1\n";
    assert_eq!(learned(&read_all(text)), station);
}

#[test]
fn sonic_and_junos() {
    let table = read_all(
        "admin@s1:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\n\
         LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n\
         -----------  --------------  -----------------  ------------  -----------------\n\
         Ethernet0    s3              fortyGigE0/4       BR            Ethernet4\n\
         Ethernet8    s2              02:54:00:00:00:aa  BR            Ethernet0\n\
         eth0         console         02:54:00:00:00:ab  BR            eth0\n\
         --------------------------------------------------\nTotal entries displayed:  3\n\
         admin@s1:~$ show mac\n  No.    Vlan  MacAddress         Port        Type\n-----  ------  -----------------  ----------  -------\n\
         \x20   1     100  02:54:00:00:00:01  Ethernet48  Dynamic\nTotal number of entries 1\n",
    );
    assert_eq!(
        heard(&table),
        [
            ("Ethernet0", "s3", vec!["fortyGigE0/4", "Ethernet4"], Some(true)),
            ("Ethernet8", "s2", vec!["02:54:00:00:00:aa", "Ethernet0"], Some(true)),
        ]
    );
    assert_eq!(learned(&table), [("Ethernet48", "02:54:00:00:00:01".to_owned(), Some(100))]);
    let table = read_all(
        "Local Interface    Parent Interface    Chassis Id          Port info          System Name\n\
         ge-0/0/1           -                   02:54:00:00:00:aa   ge-0/0/3           s2\n\
         xe-0/1/1           ae7                 02:54:00:00:00:bb   to the first floor s3.lab\n\n{master:0}\n\
         Ethernet switching table : 1 entries, 1 learned\nRouting instance : default-switch\n\
         \x20   Vlan                MAC                 MAC         Age    Logical                NH        RTR\n\
         \x20   name                address             flags              interface              Index     ID\n\
         \x20   Vlan100             02:54:00:00:00:01   DL            -   ge-0/0/5.0             0         0\n",
    );
    assert_eq!(
        heard(&table),
        [
            ("ge-0/0/1", "s2", vec!["ge-0/0/3"], None),
            ("xe-0/1/1", "s3.lab", vec!["to the first floor"], None),
        ]
    );
    assert_eq!(learned(&table), [("ge-0/0/5", "02:54:00:00:00:01".to_owned(), Some(100))]);
}

#[test]
fn routeros() {
    let table = read_all(
        "[admin@s1] > /ip neighbor print detail\n\
         \x200 interface=ether2,bridge1 address=10.0.0.2 mac-address=02:54:00:00:00:AA identity=\"core switch\" platform=\"MikroTik\"\n\
         \x20  version=\"7.15.1 (stable) 2024-06-07 12:49:11\" interface-name=\"bridge1/ether9\" system-caps=bridge,router\n\
         \x20  system-caps-enabled=bridge discovered-by=lldp,mndp\n\n\
         \x201 interface=ether3 mac-address=02:54:00:00:00:AB identity=\"far\" discovered-by=mndp interface-name=\"ether1\"\n\
         [admin@s1] > /interface bridge host print terse\n\
         0 D E  mac-address=02:54:00:00:00:01 vid=100 interface=ether4 bridge=bridge1 on-interface=ether4\n\
         1 DL   mac-address=02:54:00:00:00:02 interface=ether4 bridge=bridge1 on-interface=ether4\n\
         2 XI   mac-address=02:54:00:00:00:03 vid=123 interface=bridge1 bridge=bridge1\n",
    );
    assert_eq!(heard(&table), [("ether2", "core switch", vec!["bridge1/ether9"], Some(true))]);
    let station = [("ether4", "02:54:00:00:00:01".to_owned(), Some(100))];
    assert_eq!(learned(&table), station);
    assert_eq!(table.own.len(), 1);
    let print = "Flags: D - DYNAMIC; L - LOCAL; E - EXTERNAL\nColumns: MAC-ADDRESS, VID, ON-INTERFACE, BRIDGE\n\
                 #     MAC-ADDRESS        VID  ON-INTERFACE  BRIDGE \n0 D   02:54:00:00:00:01  100  ether4        bridge1\n\
                 1 DL  02:54:00:00:00:02       ether4        bridge1\n";
    let table = read_all(print);
    assert_eq!(learned(&table), station);
    assert_eq!(table.own.len(), 1);
}

/// What `tresse export` writes, and other entries that nobody has learned, are no sightings.
#[test]
fn static_entries_are_no_sightings() {
    for text in [
        "Vlan    Mac Address       Type        Ports\n 100    0254.0000.0001    STATIC      Gi1/0/1\n 1  0254.0000.0002  SELF  Gi1/0/2\n",
        "02:54:00:00:00:01 dev p1 vlan 100 master br0 static\n02:54:00:00:00:02 dev p1 self permanent\n",
        r#"[{"mac":"02:54:00:00:00:01","ifname":"p1","vlan":100,"flags":[],"master":"br0","state":"static"}]"#,
        r#"{"unicastTable":{"tableEntries":[{"vlanId":100,"macAddress":"02:54:00:00:00:01","interface":"Ethernet7","entryType":"static"}]}}"#,
        "  No.    Vlan  MacAddress         Port        Type\n    1     100  02:54:00:00:00:01  Ethernet48  Static\n",
        "Ethernet switching table : 1 entries, 1 learned\n  management  02:54:00:00:00:01   S    -   ge-0/0/5.0   0   0\n  v100  02:54:00:00:00:02   P,SE    -   ge-0/0/5.0   0   0\n",
        " port  VLAN  MAC                Age\n    1   100  02:54:00:00:00:01  static\n",
        "0    mac-address=02:54:00:00:00:01 vid=100 interface=ether4 bridge=bridge1 on-interface=ether4\n",
        "#     MAC-ADDRESS        VID  ON-INTERFACE  BRIDGE \n0     02:54:00:00:00:01  100  ether4        bridge1\n",
    ] {
        let table = read_all(text);
        assert!(table.fdb && table.learned.is_empty(), "{:?} of {text}", table.learned);
    }
    // A VLAN may have such a name, and records of older releases have no flag, but an age.
    for text in [
        "Ethernet switching table : 1 entries, 1 learned\n  static  02:54:00:00:00:01   D    -   ge-0/0/5.0   0   0\n",
        "0 E  mac-address=02:54:00:00:00:01 on-interface=ether4 age=3s\n",
    ] {
        assert_eq!(read_all(text).learned.len(), 1, "{text}");
    }
}

#[test]
fn text_with_a_byte_order_mark() {
    let marked = format!("\u{feff}{LLDPCLI}");
    assert!(read_bytes("s1", marked.as_bytes()).unwrap().lldp);
    let columns = "\u{feff}Device ID           Local Intf     Hold-time  Capability      Port ID\n\
                   s2                  Gi1/0/23       120        B               Gi1/0/24\n";
    assert_eq!(read_bytes("s1", columns.as_bytes()).unwrap().neighbours.len(), 1);
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let wide: Vec<u8> = marked.encode_utf16().flat_map(order).collect();
        let error = read_bytes("s1", &wide).unwrap_err().to_string();
        assert!(error.contains("s1: its text is UTF-16") && error.contains("save it as UTF-8"));
    }
}

#[test]
fn other_text_is_refused_with_the_commands_to_use() {
    for text in ["", "hello: world\n", "{\"a\": 1}", "[[[[", "name mac\n02:54:00:00:00:01 x1\n"] {
        let error = read("s1", text).unwrap_err();
        assert!(
            error.to_string().contains("s1: no table") && error.to_string().contains("lldpcli")
        );
    }
}

proptest! {
    /// What is pasted may be anything.
    #[test]
    fn any_text_gives_an_answer(parts in proptest::collection::vec(
        prop_oneof![
            "\\PC{0,40}", Just("\n".to_owned()),
            Just("Device ID           Local Intf     Hold-time  Capability      Port ID\n".to_owned()),
            Just("LocalPort    RemoteDevice    RemotePortID  Capability\n".to_owned()),
            Just("Port  Neighbor Device ID  Neighbor Port ID  TTL\n".to_owned()),
            Just("Vlan    Mac Address       Type        Ports\n".to_owned()),
            Just("0254.0000.0001 ".to_owned()), Just(LLDPCLI.to_owned()), Just("{".to_owned()),
            Just("Interface: p1, via: LLDP\nSysName: a\n".to_owned()),
            Just(" 0 interface=ether2 mac-address=02:54:00:00:00:AA identity=\"".to_owned()),
        ], 0..12,
    )) {
        let text = parts.concat();
        if let Ok(table) = read("s1", &text) {
            for n in &table.neighbours {
                prop_assert!(!n.port.is_empty() && n.is_named());
            }
            for l in &table.learned {
                prop_assert!(l.mac.0[0] & 1 == 0);
            }
        }
    }
}
