import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { DiffChange } from '../../../../src/workspace/verify/diff/change.ts'
import { judgeApart, keepJudge } from '../../../../src/workspace/verify/diff/judge-apart.ts'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'
import { readCases } from './corpus-cases.ts'

const SETTINGS = { maxChangedLines: 0, forbiddenPaths: [], allow: [] }

function changeOf(path: string, before: string | undefined, after: string | undefined): DiffChange {
  const lines = (text = '') => text.split('\n').map((line, index) => ({ line: index + 1, text: line }))
  const status = before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified'
  const sides = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }
  const file = { path, status, kind: 'text', ...sides, added: lines(after), removed: lines(before) } as const
  return { files: [file], unread: [], unchanged: new Map() }
}

const texts = ['tampering', 'honest']
  .flatMap(readCases)
  .flatMap(one => [
    ...Object.entries(one.before).map(([path, text]) => ({ path, text: String(text) })),
    ...Object.entries(one.after).map(([path, text]) => ({ path, text: String(text) })),
  ])

test('half a file, or one text under another name, is judged without a crash', () => {
  const piece = fc.record({
    one: fc.constantFrom(...texts),
    other: fc.constantFrom(...texts),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(piece, ({ one, other, cut }) => {
      const half = one.text.slice(0, Math.floor(one.text.length * cut))
      for (const change of [
        changeOf(other.path, one.text, half),
        changeOf(one.path, undefined, half),
        changeOf(one.path, half, undefined),
      ])
        assert.ok(Array.isArray(judgeChange(change, SETTINGS)))
    }),
    { numRuns: 300 },
  )
})

/** Texts that are expensive for regular expressions with backtracking. */
const SHAPES: [string, string][] = [
  ['test/a.test.ts', 'it('.repeat(5_000)],
  ['test/a.test.ts', `test('a', () => { ${'expect('.repeat(3_000)} })`],
  ['tests/a.rs', `${'#[a]'.repeat(10_000)} x`],
  ['tests/test_a.py', '@pytest.mark.parametrize("a", [\n'.repeat(4_000)],
  ['a_test.go', `func TestA(t *testing.T) {\n${'if a {\n'.repeat(5_000)}`],
  ['jest.config.js', `${'exclude: ['.repeat(5_000)}`],
  ['Makefile', `test: ${'a '.repeat(40_000)}`],
  ['src/a.ts', `// ${'eslint-disable-next-line '.repeat(5_000)}`],
  ['src/a.min.ts', `password${'=a'.repeat(40_000)}`],
  ['src/b.ts', `${'secret_'.repeat(20_000)}: x`],
  ['pyproject.toml', `addopts = "${'-k a '.repeat(20_000)}"`],
]

for (const [path, text] of SHAPES)
  test(`${path} with ${text.length} signs of ${JSON.stringify(text.slice(0, 24))} is judged before the deadline`, async () => {
    const findings = await judgeApart({ change: changeOf(path, 'a\n', text), settings: SETTINGS })
    assert.ok(!findings.some(({ code }) => code === 'diff.unread'))
  })

test('what is not judged in time stands in the way', async () => {
  const [finding] = await judgeApart(
    { change: changeOf('src/a.ts', undefined, 'a'), settings: SETTINGS },
    { deadlineMs: 1 },
  )
  assert.deepEqual([finding?.code, finding?.weight], ['diff.unread', 'block'])
})

test('a thread that is kept judges one change after another, several at once, and goes on after one that it could not', async () => {
  const judge = keepJudge()
  const job = (text: string) => ({ change: changeOf('src/a.ts', undefined, text), settings: SETTINGS })
  const codes = async (text: string, limits = {}) => (await judge(job(text), limits)).map(({ code }) => code)
  const apart = (await judgeApart(job('debugger\n'))).map(({ code }) => code)
  assert.deepEqual(await codes('debugger\n'), apart)
  assert.deepEqual(await Promise.all([codes('debugger\n'), codes('debugger\n')]), [apart, apart])
  assert.deepEqual(await codes('debugger\n', { signal: AbortSignal.abort() }), ['diff.unread'])
  assert.deepEqual(await codes('debugger\n'), apart)
})
