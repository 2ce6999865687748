"""XMLParse: elements of documents as tuples."""

from __future__ import annotations

import io

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.expr.xml_tree import parse_path
from penstock.lang import compile_text
from penstock.reference import run


def printed(pieces: list[str], output: str, schema: str, param: str = 'trigger: "/a/b";') -> list[str]:
    """What an XMLParse makes of pieces of documents; `|` is a window marker."""
    sent = " ".join(
        "submit(Sys.WindowMarker, Docs);" if p == "|" else f'submit({{doc = "{p}", n = {i}}}, Docs);'
        for i, p in enumerate(pieces)
    )
    program = compile_text(f"""composite Main {{ graph
        stream<rstring doc, int32 n> Docs = Custom() {{ logic onProcess: {{ {sent} }} }}
        stream<{schema}> E = XMLParse(Docs) {{ param xmlInput: doc; {param} {output} }}
        () as Sink = Custom(E) {{ logic onTuple E: println(E); }} }}""")
    out = io.StringIO()
    run([program], environment=Environment(stdout=out))
    return out.getvalue().splitlines()


def test_paths_read_texts_attributes_and_elements_within_elements() -> None:
    output = """output E: id = (int32) XPath("@id"), root = XPath("/a/@r"), t = XPath("t/text()"), n = AsIs(n + 1),
        l = XPathList("c/@k"), inner = XPathList("c", {k = XPath("@k"), d = XPathList("d/text()")});"""
    schema = (
        "int32 id, rstring root, rstring t, int32 n, list<rstring> l, list<tuple<rstring k, list<rstring> d>> inner"
    )
    doc = "<a r='x'><b id='1'><t>one</t><c k='u'><d>1</d><d>2</d></c><c k='v'/></b><z><b id='7'/></z><b id='2'/></a>"
    assert printed([doc], output, schema) == [
        '{id=1,root="x",t="one",n=1,l=["u","v"],inner=[{k="u",d=["1","2"]},{k="v",d=[]}]}',
        '{id=2,root="x",t="",n=1,l=[],inner=[]}',
    ]


def test_a_document_may_go_over_several_tuples_and_a_tuple_hold_the_end_of_one() -> None:
    pieces = ["<a><b><t>o", "ne</t></", "b><b><t>two</t></b></a>", "<a><b><t>three</t></b></a>", " "]
    assert printed(pieces, "", "rstring t") == ['{t="one"}', '{t="two"}', '{t="three"}']


def test_a_marker_ends_a_document() -> None:
    assert printed(["<a><b><t>one</t></b>", "|", "<a><b><t>two</t></b></a>"], "", "rstring t") == [
        '{t="one"}',
        '{t="two"}',
    ]


def test_attributes_that_are_not_assigned_are_read_by_name() -> None:
    schema = """map<rstring, rstring> _attrs, rstring _text, int32 n, optional<float64> f, optional<float64> g,
        tuple<rstring k, list<int32> v> c"""
    doc = "<a><b n='3' m='4'>te<c k='x'><v>1</v><v> 2 </v></c>xt<f>0.5</f></b></a>"
    wanted = '{_attrs={"n":"3","m":"4"},_text="text",n=3,f=0.5,g=null,c={k="x",v=[1,2]}}'
    assert printed([doc], "", schema, 'trigger: "/a/b"; flatten: attributes;') == [wanted]
    wanted = wanted.replace(",n=3", ",n=0").replace('k="x"', 'k=""')
    assert printed([doc], "", schema) == [wanted]


def test_names_are_compared_as_asked_for() -> None:
    doc = "<x:A xmlns:x='u'><x:B ID='1'/></x:A>"
    output = 'output E: id = XPath("@ID");'
    assert printed([doc], output, "rstring id", 'trigger: "/x:A/x:B";') == ['{id="1"}']
    assert printed([doc], output, "rstring id", 'trigger: "/a/b"; ignorecase: true; ignoreNamespaces: true;') == [
        '{id="1"}'
    ]
    assert printed([doc], output, "rstring id", 'trigger: "/A/B"; ignorePrefix: "x";') == ['{id="1"}']
    assert printed([doc], output, "rstring id", 'trigger: "/A/B";') == []


def test_what_is_no_xml_is_set_aside_and_the_next_document_read() -> None:
    pieces = ["<a><b><t>one</t></a>", "nothing", "<a><b><t>two</t></b></a>"]
    assert printed(pieces, "", "rstring t", 'trigger: "/a/b"; parsing: permissive;') == ['{t="two"}']
    with pytest.raises(UserError, match="it is no XML: mismatched tag"):
        printed(pieces, "", "rstring t")
    with pytest.raises(UserError, match="int32"):
        printed(["<a><b><t>x</t></b></a>"], "", "int32 t")


@pytest.mark.parametrize("path", ["a[1]", "//b", "a/b()", "", "a//b", "@"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_path(path)


def test_mistakes_are_told_when_a_program_is_checked() -> None:
    for param, output, message in (
        ('trigger: "/a", "/b";', "", "`trigger` has a path for each output port, found 2 for 1"),
        ('trigger: "a/b";', "", "a trigger begins at the root"),
        ('trigger: "/a";', 'output E: t = XPath("x[2]");', "is not a path"),
        ('trigger: "/a";', "output E: t = XPath(doc);", "a path is a literal"),
    ):
        with pytest.raises(UserError) as raised:
            printed([], output, "rstring t", param)
        assert message in str(raised.value)
