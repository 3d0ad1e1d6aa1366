import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'
import { changeOf } from './change-of.ts'
import { SAMPLES } from './samples.ts'

const SETTINGS = { maxChangedLines: 0, forbiddenPaths: [], allow: [] }
const NAMES = ['Adds', 'Counts', 'Sums']

test('of a new test that asks nothing of the program it is not said that it cannot fail', async () => {
  const text =
    "import assert from 'node:assert'\nimport { test } from 'node:test'\n\ntest('broken', () => assert.equal(1, 2))\n"
  const [finding] = await judgeChange(changeOf('test/a.test.js', undefined, text), SETTINGS)
  assert.equal(finding?.text, 'The new test "broken" checks nothing of the program: assert.equal(1, 2).')
})

for (const [language, sample] of Object.entries(SAMPLES))
  describe(`tests in ${language}`, () => {
    const tests = NAMES.map((name, at) => sample.test(name, 10 + at * 7, 'result'))
    const before = sample.file(tests)
    const found = (after: string) => judgeChange(changeOf(sample.path, before, after), SETTINGS)
    const blocking = (after: string) => found(after).filter(({ weight }) => weight === 'block')
    const withTest = (at: number, test: string) => sample.file(tests.with(at, test))
    const lines = before.split('\n')
    const inside = lines.findIndex(line => line.includes('result'))

    test('removing any of them is found', () => {
      for (const at of tests.keys()) {
        const codes = blocking(sample.file(tests.toSpliced(at, 1))).map(({ code }) => code)
        assert.deepEqual(codes, ['test.deleted'], NAMES[at])
      }
      assert.ok(found('').some(({ weight }) => weight === 'block'))
    })

    test('every way to leave one out is found', () => {
      for (const skip of sample.skips)
        for (const at of tests.keys()) {
          const after = withTest(at, skip(tests[at] ?? ''))
          const codes = blocking(after).map(({ code }) => code)
          assert.ok(/test\.(skipped|deleted)/.test(codes.join()), `${after}\n${codes}`)
        }
    })

    test('every way to let one detect less is found', () => {
      for (const weaken of sample.weakens)
        for (const at of tests.keys()) {
          const after = withTest(at, weaken(tests[at] ?? ''))
          assert.notDeepEqual(blocking(after), [], after)
        }
      for (const at of tests.keys()) {
        const after = withTest(at, (tests[at] ?? '').replace(/\b1\d{2}\b/, '999'))
        assert.ok(
          blocking(after).some(({ code }) => code === 'test.expected-changed'),
          after,
        )
      }
    })

    test('comments, empty lines, layout and names of variables change nothing', () => {
      const places = fc.array(fc.nat({ max: lines.length - 1 }), { maxLength: 5 })
      const texts = fc.constantFrom('skip it.only @Disabled expect(true)', 'assert x == 3', '')
      const layout = fc.record({
        places,
        text: texts,
        name: fc.constantFrom('result', 'r', 'total_sum'),
        indent: fc.constantFrom('', '    '),
      })
      fc.assert(
        fc.property(layout, ({ places, text, name, indent }) => {
          const renamed = before.replaceAll(/\bresult\b/g, name).split('\n')
          const added = renamed.flatMap((line, at) => [
            ...(places.includes(at) && at > 1 ? [text === '' ? '' : sample.comment(text)] : []),
            sample.isFree ? `${indent}${line}` : line,
          ])
          const after = added.join('\n')
          assert.deepEqual(found(after), [], after)
        }),
        { numRuns: 25 },
      )
    })

    test('look-alikes in strings and names are no findings', () => {
      const indent = /^\s*/.exec(lines[inside] ?? '')?.[0] ?? ''
      const after = lines.toSpliced(inside, 0, ...sample.alike.map(line => `${indent}${line}`)).join('\n')
      assert.deepEqual(found(after), [], after)
    })
  })
