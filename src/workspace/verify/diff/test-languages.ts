import type { Language } from './file-kind.ts'

/**
 * How one language writes tests. Every pattern is compared with names, never with code: with the path of a call (`t.mock.fn`), of a mark
 * (`pytest.mark.skip`), or with the name of a function.
 */
export interface TestLanguage {
  /** Calls that define a test or a group of tests, with a function among their arguments. */
  tests?: RegExp
  /** The calls among them that only hold other tests. */
  groups?: RegExp
  /** Names of functions that are tests. */
  named?: RegExp
  /** Marks that make a function a test. */
  marked?: RegExp
  /** Definitions of functions. The grammar of functions without a name finds the others. */
  functions: RegExp
  /** Calls, and last names of marks and of chains, that leave out a test. */
  skips: RegExp
  /** The same under the condition that is their first argument. */
  skipsIf?: RegExp
  /** The same unless that condition holds. */
  skipsUnless?: RegExp
  /** Calls and marks that keep the other tests from running. */
  focuses?: RegExp
  /** Calls, marks and names of arguments that hold a table of cases. */
  rows?: RegExp
  /** Calls that assert. A chain that begins with one of `expects` needs a matcher after it. */
  asserts: RegExp
  expects?: RegExp
  /** Calls that report a failure, so that the condition around them is the assertion. */
  complaints?: RegExp
  /** Modules of test libraries: what a file calls them has no meaning. */
  libraries?: RegExp
}

const JVM: TestLanguage = {
  marked: /(^|\.)(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)$/,
  named: /^test[A-Z_]/,
  functions: /^(method_declaration|function_declaration|constructor_declaration)$/,
  tests:
    /^(test|it|should|describe|context|given|expect|scenario|feature|xtest|xit|xdescribe|xcontext|xshould|"[^"]*")(\.config)?$/,
  groups: /^(describe|context|given|feature|xdescribe|xcontext)$/,
  skips: /(^|\.)(Disabled|Ignore|xtest|xit|xdescribe|xcontext|xshould|SkipException)$/,
  skipsIf:
    /(^|\.)(DisabledIf\w*|DisabledOn\w*|EnabledIf\w*|EnabledOn\w*|EnabledFor\w*|DisabledFor\w*|assumeFalse|assumingThat)$/,
  skipsUnless: /(^|\.)(assumeTrue|assumeThat|assumeNotNull|assumeNoException)$/,
  rows: /(^|\.)(ValueSource|CsvSource|EnumSource|MethodSource|CsvFileSource|withData|forAll)$/,
  asserts: /(^|\.)(assert\w*|fail|verify|(check|expect)[A-Z]\w*|should\w*)$/,
  expects: /(^|\.)(assertThat\w*|then|expectThat|expectThatCode)$/,
}

export const TEST_LANGUAGES: Readonly<Record<Language, TestLanguage>> = {
  javascript: {
    tests:
      /^((t|s|ctx|Deno)\.test|describe|context|suite|it|test|specify|fit|fdescribe|xit|xtest|xdescribe|xspecify|xcontext)(?!.*\.(before|after|beforeEach|afterEach|beforeAll|afterAll|use|step|extend|mock|setTimeout|info|slow|configure|poll)\b)(\.\w+)*$/,
    groups: /^(describe|context|suite|fdescribe|xdescribe|xcontext)\b|\.describe\b/,
    functions: /^(function_declaration|generator_function_declaration|method_definition)$/,
    skips: /(^|\.)(skip|todo|failing|fails|fixme|pending)$|^x(it|test|describe|specify|context)\b/,
    skipsIf: /\.(skipIf|todoIf)$/,
    skipsUnless: /\.(runIf|if)$/,
    focuses: /^f(it|describe)\b|(^|\.)only$/,
    rows: /(^|\.)(each|for|forEach)$/,
    asserts:
      /^((t|test|ctx|context|chai|browser)\.)?(assert(\.\w+)*|(assert|expect|should)[A-Z]\w*)$|^t\.(is|not|deepEqual|notDeepEqual|like|true|false|truthy|falsy|throws|throwsAsync|notThrows|notThrowsAsync|regex|notRegex|pass|fail|equal|same|strictSame|match|ok|notOk|equals|error|rejects|snapshot)$|(^|\.)should\.\w/,
    expects: /^((t|test|ctx|context|chai|browser)\.)?expect(\.soft|\.poll)?\b/,
    libraries:
      /^(node:)?(test|assert)(\/strict)?$|^(vitest|@jest\/globals|bun:test|ava|tape|tap|uvu|mocha|chai|@playwright\/test)$/,
  },
  python: {
    named: /^test/,
    functions: /^function_definition$/,
    skips: /(^|\.)(skip|xfail|expectedFailure|skipTest|SkipTest|importorskip)$/,
    skipsIf: /(^|\.)(skipif|skipIf)$/,
    skipsUnless: /(^|\.)skipUnless$/,
    rows: /(^|\.)(parametrize|expand|data)$/,
    asserts: /(^|\.)(assert\w+|fail|raises|warns|check_\w+|verify_\w+|expect\w*)$/,
    libraries: /^(pytest|unittest|nose|hypothesis)(\.\w+)*$/,
  },
  go: {
    named: /^(Test(?!Main$)|Fuzz|Example)/,
    functions: /^(function_declaration|method_declaration)$/,
    skips: /^(t|s\.T)\.(Skip|Skipf|SkipNow)$/,
    asserts:
      /^(assert|require|is|s|suite|c|qt|a|r|must)\.[A-Z]\w*$|^(assert|require|check|must|expect|verify)[A-Z]\w*$/,
    complaints: /^(t|s\.T)\.(Errorf?|Fatalf?|Fail|FailNow)$/,
    libraries: /(^|\/)(assert|require|is|quicktest|must)$/,
  },
  rust: {
    marked: /(^|\.)(test|rstest|test_case|quickcheck|proptest|wasm_bindgen_test)$/,
    functions: /^function_item$/,
    skips: /^ignore$/,
    skipsUnless: /^(cfg|cfg_attr)$/,
    rows: /^(test_case|case)(\.\w+)?$/,
    asserts: /(^|\.)((debug_|prop_)?assert\w*ǃ|panicǃ|unreachableǃ|(assert|check|verify|expect)_\w+)$/,
  },
  java: JVM,
  kotlin: JVM,
  csharp: {
    marked: /(^|\.)(Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)(Attribute)?$/,
    functions: /^(method_declaration|local_function_statement)$/,
    skips: /(^|\.)(Ignore|Explicit|Assert\.(Ignore|Inconclusive|Skip))$/,
    skipsIf: /(^|\.)Skip\.If$/,
    skipsUnless: /(^|\.)(Skip\.IfNot|Assume\.That|Assert\.SkipUnless)$/,
    rows: /(^|\.)(InlineData|TestCase|DataRow|MemberData|ClassData)$/,
    asserts:
      /(^|\.)(Assert|StringAssert|CollectionAssert|ClassicAssert)\.\w+$|(^|\.)Verify$|(^|\.)(Assert|Expect|Check|Verify)[A-Z]\w*$/,
    expects: /(^|\.)Should\b/,
  },
  ruby: {
    tests:
      /^(RSpec\.)?(describe|context|feature|it|specify|example|scenario|test|should|f?x?(it|describe|context|specify|example|scenario))$/,
    groups: /^(RSpec\.)?[fx]?(describe|context|feature)$/,
    named: /^test_/,
    functions: /^(method|singleton_method)$/,
    skips: /^(self\.)?(skip|pending|x(it|describe|context|specify|example|scenario))$/,
    skipsIf: /^omit_if$/,
    skipsUnless: /^omit_unless$/,
    focuses: /^f(it|describe|context|specify|example|scenario)$/,
    rows: /(^|\.)(each|each_pair)$/,
    asserts: /^(self\.)?(assert\w*|refute\w*|flunk|must_\w+|expect_\w+|check_\w+|verify_\w+)$|\.(must|wont)_\w+$/,
    expects: /^(expect|is_expected|subject)\b|(^|\.)should(_not)?$/,
  },
  php: {
    tests:
      /^(it|test|describe)(\.(skip|only|todo|with|group|throws|depends|repeat|not|skipOnWindows|skipOnMac|skipOnLinux|skipOnCI|repeat))*$/,
    groups: /^describe\b/,
    named: /^test/,
    marked: /(^|\.)Test$/,
    functions: /^(method_declaration|function_definition)$/,
    skips: /(^|\.)(markTestSkipped|markTestIncomplete|skip|todo|skipOnCI)$/,
    skipsIf: /(^|\.)(RequiresPhp\w*|RequiresOperatingSystem\w*|skipOn\w+)$/,
    focuses: /\.only$/,
    rows: /(^|\.)(DataProvider|TestWith\w*|with|dataset)$/,
    asserts: /(^|\.)(assert\w*|fail|expectException\w*|expectOutput\w*)$/,
    expects: /^expect\b/,
  },
  swift: {
    tests: /^[xf]?(it|describe|context)$/,
    groups: /^[xf]?(describe|context)$/,
    named: /^test/,
    marked: /^Test\b/,
    functions: /^function_declaration$/,
    skips: /(^|\.)(XCTSkip|disabled|pending|x(it|describe|context))$/,
    skipsIf: /^XCTSkipIf$/,
    skipsUnless: /^XCTSkipUnless$|\.enabled$/,
    focuses: /^f(it|describe|context)$/,
    rows: /^arguments$/,
    asserts: /^(XCT(Assert\w*|Fail|Unwrap)|expect|require|(assert|verify|check|expect)[A-Z]\w*)$/,
  },
  c: {
    tests: /^(TEST_CASE(_METHOD)?|SCENARIO|TEST_CASE_FIXTURE)$/,
    named: /^(TYPED_TEST|TEST|TEST_F|TEST_P|BOOST_AUTO_TEST_CASE|Test|START_TEST|test_\w+|Test\w+)$/,
    functions: /^function_definition$/,
    skips: /^(GTEST_SKIP\w*|SKIP|TEST_IGNORE\w*)$|(^|\.)DISABLED_\w*$/,
    asserts:
      /^((EXPECT|ASSERT|REQUIRE|CHECK|TEST_ASSERT|BOOST)(_[A-Z0-9_]+)?|assert\w*|cr_(assert|expect)\w*|ck_assert\w*|(check|verify|expect)_\w+)$/,
  },
}
