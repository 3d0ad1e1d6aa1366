import { parseSource } from '../../../base/syntax/parse-source.ts'
import type { DiffFile } from './change.ts'
import { codeLines } from './code-piece.ts'
import { isTestFile, isTestSupport, isToolConfig, languageOf, nameOf } from './file-kind.ts'
import { readTestCode } from './read-tests.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

type Shape = [shape: RegExp, code: 'test.exit' | 'test.rigged', text: string]

/** Lines that end a test run, or change the meaning of equal, passed and expected. */
const SHAPES: Shape[] = [
  [
    /\bprocess\.exit\(\s*0?\s*\)|\bprocess\.exitCode\s*=\s*0\b|\bDeno\.exit\(\s*0?\s*\)/,
    'test.exit',
    'ends the process as if everything had passed',
  ],
  [
    /\bsys\.exit\(\s*0?\s*\)|\bos\._exit\(\s*0\s*\)|\bpytest\.exit\(|\bexit\(0\)/,
    'test.exit',
    'ends the process as if everything had passed',
  ],
  [/\bos\.Exit\(\s*0\s*\)/, 'test.exit', 'ends the process as if everything had passed'],
  [/\bprocess::exit\(\s*0\s*\)/, 'test.exit', 'ends the process as if everything had passed'],
  [
    /\b(global|globalThis|window|self)\.(expect|assert|test|it|describe)\s*=[^=]/,
    'test.rigged',
    'replaces what tests are written with',
  ],
  [
    /\b(global|globalThis)\[["'](expect|assert|test|it|describe)["']\]\s*=[^=]/,
    'test.rigged',
    'replaces what tests are written with',
  ],
  [/(?<![\w.])assert\.\w+\s*=(?!=)|\bexpect\.\w+\s*=(?!=)/, 'test.rigged', 'replaces an assertion'],
  [
    /\bexpect\.extend\(\s*\{[^}]*\b(toBe|toEqual|toStrictEqual|toThrow|toContain|toMatch)\b/,
    'test.rigged',
    'replaces an assertion of the library',
  ],
  [/\bTestCase\.(assert\w+|fail)\s*=/, 'test.rigged', 'replaces an assertion of the library'],
  [
    /\b(outcome|exitstatus|wasxfail)\s*=\s*(["'](passed|skipped)["']|0\b)/,
    'test.rigged',
    'changes what a test is reported as',
  ],
  [/\bitems\s*(\[:\]\s*=|\.clear\(|\.remove\()/, 'test.rigged', 'takes tests out of the run'],
  [/\badd_marker\(\s*(pytest\.mark\.)?(skip|xfail)/, 'test.rigged', 'skips tests that do not say so themselves'],
  [/^\s*collect_ignore(_glob)?\s*(=|\+=)/, 'test.rigged', 'takes files out of the run'],
  [
    /\bdef\s+pytest_(ignore_collect|runtest_makereport|sessionfinish|report_teststatus)\b/,
    'test.rigged',
    'changes what is run or reported',
  ],
  [
    /\b(builtins|sys\.modules)(\[|\.)\s*["']?(AssertionError|assert|pytest)/,
    'test.rigged',
    'replaces what tests are written with',
  ],
  [/\bpanic::set_hook\(.*\|_\|\s*\{?\s*\}?\)/, 'test.rigged', 'hides what fails'],
]

/** Set-up of tests that makes every run a success. */
export const riggedRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text' || languageOf(file.path) === undefined) return []
    const text = file.after ?? ''
    if (isTestFile(file.path, text) || isTestSupport(file.path) || /(conftest|setup|teardown|global)/i.test(file.path))
      return [...shapeFindings(file), ...wholeFindings(file), ...everywhere(file), ...ownAssertions(file)]
    return isToolConfig(file.path) ? [] : productFindings(file)
  })

function shapeFindings(file: DiffFile): DiffFinding[] {
  // A program in a string is not run here; the names of outcomes are strings.
  const { code, bare } = codeLines(readTestCode(file.path, file.after ?? ''), file.after ?? '')
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  return file.added.flatMap(({ line, text }) => {
    if (known.has(text.trim())) return []
    const found = SHAPES.find(([shape, kind]) => shape.test((kind === 'test.exit' ? code : bare)[line - 1] ?? ''))
    if (found === undefined) return []
    return [block(found[1], `${file.path} ${found[2]}: ${text.trim().slice(0, 80)}`, { file: file.path, line })]
  })
}

const ASSERTIONS =
  /^(expect|assert|it|test|describe|assert_(eq|ne|equal)|assert(Equals?|True|False|Same|That|Throws)|XCTAssert(Equal|True)?|(EXPECT|ASSERT)_(EQ|NE|TRUE))$/

/** A test file that defines what it asserted with before: its tests mean something else now. */
function ownAssertions({ path, before, after = '' }: DiffFile): DiffFinding[] {
  const defined = (text: string) =>
    parseSource(path, text).definitions.filter(({ kind }) => kind === 'function' || kind === 'method')
  const known = new Set(before === undefined ? [] : defined(before).map(({ name }) => name))
  const own = before === undefined ? [] : defined(after).filter(({ name }) => ASSERTIONS.test(name) && !known.has(name))
  return own.map(({ name, startLine }) =>
    block('test.rigged', `${path} defines ${name} itself, which its tests are written with.`, {
      file: path,
      line: startLine,
    }),
  )
}

/** An automatic fixture that replaces a function of the program by a fixed value. Clocks and the machine do not count. */
function everywhere({ path, added, after = '' }: DiffFile): DiffFinding[] {
  if (!/(^|\/)conftest\.py$/.test(path) || !/autouse\s*=\s*True/.test(after)) return []
  const shape =
    /(?:monkeypatch\.setattr|mocker\.patch(?:\.object)?)\(\s*["']?([\w.]+).*(?:lambda[^:]*:|return_value\s*=)\s*["'\d[{(]/
  return added.flatMap(({ line, text }) => {
    const module = shape.exec(text)?.[1]
    if (module === undefined || MACHINE.test(module)) return []
    return [block('test.rigged', `${path} gives every test a fixed answer of ${module}.`, { file: path, line })]
  })
}

const MACHINE =
  /^(time|datetime|os|sys|random|uuid|socket|platform|getpass|locale|secrets|requests|httpx|urllib\w*|aiohttp|smtplib|subprocess|shutil|pathlib|logging|boto3|settings|config)\b|\.(settings|config|clock)\b/

/** Patterns over more than one line. */
function wholeFindings({ path, before = '', after = '' }: DiffFile): DiffFinding[] {
  const findings: DiffFinding[] = []
  const equal =
    /def __eq__\(self[^)]*\)[^:]*:\s*(?:"""[^"]*"""\s*)?return True\b|fn eq\(&self[^)]*\)\s*->\s*bool\s*\{\s*true\s*\}|\bequals?\s*\([^)]*\)\s*(?::\s*boolean\s*)?\{\s*return true;?\s*\}/
  if (equal.test(after) && !equal.test(before))
    findings.push(block('test.rigged', `${path} has something that is equal to everything.`, { file: path }))
  const main = /func TestMain\(\w+ \*testing\.M\)\s*\{([\s\S]*?)\n\}/
  const now = main.exec(after)?.[1]
  if (
    now !== undefined &&
    now !== main.exec(before)?.[1] &&
    !/os\.Exit\((m\.Run\(\)|code|exit\w*|status|rc|ret\w*|result)\)|^[^}]*\bm\.Run\(\)\s*$/m.test(now)
  )
    findings.push(block('test.exit', `TestMain of ${path} does not exit with the result of the tests.`, { file: path }))
  return findings
}

const ASKS =
  /(environ|getenv|process\.env|import\.meta\.env|env::var|Getenv|LookupEnv)[^;]{0,40}\b(PYTEST_CURRENT_TEST|JEST_WORKER_ID|VITEST(_WORKER_ID|_POOL_ID)?|NODE_TEST_CONTEXT|GO_TEST|CARGO_TEST)\b|["'](PYTEST_CURRENT_TEST|JEST_WORKER_ID)["'] in |["'](pytest|unittest)["'] in sys\.modules|flag\.Lookup\("test\.v"\)|testing\.Testing\(\)|\bcfg!\(test\)|strings\.(HasSuffix|Contains)\(os\.Args\[0\], "[./]*test/

/** A program that detects a test run can behave differently in it. */
function productFindings(file: DiffFile): DiffFinding[] {
  if (languageOf(file.path) === undefined) return []
  return file.added.flatMap(({ line, text }) => {
    const at = { file: file.path, line }
    if (ASKS.test(text))
      return [
        block('code.knows-tests', `${file.path} asks whether it is being tested: ${text.trim().slice(0, 80)}`, at),
      ]
    if (/NODE_ENV["'\]]*\s*[!=]==?\s*["']test["']/.test(text))
      return [note('code.knows-tests', `${file.path} behaves differently where NODE_ENV is "test".`, at)]
    return []
  })
}

/** Tests that mock the very unit that they test. */
export const mockRule: DiffRule = change =>
  change.files.flatMap(file => (file.kind === 'text' && isTestFile(file.path, file.after) ? mockFindings(file) : []))

function mockFindings(file: DiffFile): DiffFinding[] {
  const unit = unitOf(file.path)
  const after = file.after ?? ''
  return file.added.flatMap(({ line, text }) => {
    if (file.before?.includes(text.trim())) return []
    const what = mockedModule(text, unit) ?? mockedFunction(text, after, unit) ?? shadowed(text, file)
    if (what === undefined) return []
    return [block('test.mocked', `${file.path} replaces ${what}, which is what it tests.`, { file: file.path, line })]
  })
}

/** The name of what a test file tests: `cart` for cart.test.ts, test_cart.py and cart_test.go. */
function unitOf(path: string): string {
  return nameOf(path)
    .replace(/\.\w+$/, '')
    .replace(/^test_|[._-](tests?|spec|e2e)$/g, '')
    .toLowerCase()
}

function mockedModule(text: string, unit: string): string | undefined {
  const path =
    /\b(?:jest|vi|mock|t\.mock)\.(?:mock|doMock|unstable_mockModule|module)\(\s*(?:import\()?["'`]([^"'`]+)["'`]/.exec(
      text,
    )?.[1]
  if (path === undefined || !/^[./@~#]/.test(path)) return undefined
  const name = nameOf(path)
    .replace(/\.\w+$/, '')
    .toLowerCase()
  return name === unit ? `the module ${path}` : undefined
}

/** Whether the test itself calls the function; functions that the unit calls may well be mocked. */
function mockedFunction(text: string, after: string, unit: string): string | undefined {
  const spied = /\b(?:jest|vi|mock|t\.mock|sinon)\.(?:spyOn|method|stub)\(\s*([\w.]+)\s*,\s*["'`](\w+)["'`]/.exec(text)
  if (spied && /mock(Return|Resolved|Implementation|Rejected)|returns|=>/.test(after))
    return directCall(after, spied[2] ?? '', spied[1], text)
  const patched =
    /(?:mock\.patch|mocker\.patch|@patch|\bpatch)\(\s*["']([\w.]+)\.(\w+)["']/.exec(text) ??
    /(?:monkeypatch\.setattr|(?:mocker\.)?patch\.object)\(\s*["']?([\w.]+)["']?\s*[.,]\s*["']?(\w+)["']/.exec(text)
  if (!patched) return undefined
  const module = (patched[1] ?? '').split('.').at(-1)?.toLowerCase() ?? ''
  return module === unit || module === '' ? directCall(after, patched[2] ?? '', patched[1], text) : undefined
}

function directCall(after: string, name: string, owner: string | undefined, line: string): string | undefined {
  const own = owner?.split('.').at(-1) ?? ''
  const rest = after.replace(line, '')
  const asserted = new RegExp(`(expect|assert\\w*|assertEqual)[ (.].*\\b(${own}\\.)?${name}\\(`)
  const assigned = new RegExp(`=\\s*(await\\s+)?(${own}\\.)?${name}\\(`)
  return asserted.test(rest) || assigned.test(rest) ? `${own}.${name}` : undefined
}

/** The import was removed, and the test defines a function of that name. */
function shadowed(text: string, file: DiffFile): string | undefined {
  if (languageOf(file.path) === undefined) return undefined
  const name =
    /^\s*(?:export\s+)?(?:async\s+)?(?:function|def|fn)\s+(\w+)\s*[(<]/.exec(text)?.[1] ??
    /^\s*const\s+(\w+)\s*=\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>|\w+\s*=>|jest\.fn|vi\.fn|mock\.fn)/.exec(text)?.[1]
  if (name === undefined) return undefined
  const imported = file.removed.some(
    ({ text: gone }) =>
      /\b(import|require|use|from)\b/.test(gone) && !TEST_PLACE.test(gone) && new RegExp(`\\b${name}\\b`).test(gone),
  )
  const isStill = new RegExp(`\\b(import|require|use|from)\\b.*\\b${name}\\b`).test(file.after ?? '')
  return imported && !isStill ? name : undefined
}

/** Modules beside the tests belong to them and may be rewritten. */
const TEST_PLACE = /support|helper|fixture|testing|(^|[/'"])tests?\/|from ['"]\.\/(?!.*src)|conftest/
