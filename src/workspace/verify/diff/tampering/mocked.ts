import type { ChangedFile } from '../change/change.ts'
import { isTestFile, languageOf, nameOf } from '../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule } from '../rules/rule.ts'

/** Tests that replace the very thing that they are about. */
export const mockRule: DiffRule = change =>
  change.files.flatMap(file => (file.kind === 'text' && isTestFile(file.path, file.after) ? mockFindings(file) : []))

function mockFindings(file: ChangedFile): DiffFinding[] {
  const unit = unitOf(file.path)
  const after = file.after ?? ''
  return file.added.flatMap(({ line, text }) => {
    if (file.before?.includes(text.trim())) return []
    const what = mockedModule(text, unit) ?? mockedFunction(text, after, unit) ?? shadowed(text, file)
    if (what === undefined) return []
    return [
      block('test.mocked', `${file.path} replaces ${what}, which it is there to test.`, { file: file.path, line }),
    ]
  })
}

/** `cart.test.ts`, `test_cart.py` and `cart_test.go` are about `cart`. */
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

/** One that the test itself calls; what the unit calls in its turn may well be replaced. */
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

/** The import is gone, and a function of that name stands in the test. */
function shadowed(text: string, file: ChangedFile): string | undefined {
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

/** What comes from beside the tests is theirs to write anew. */
const TEST_PLACE = /support|helper|fixture|testing|(^|[/'"])tests?\/|from ['"]\.\/(?!.*src)|conftest/
