import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasOtherChecks, isPartlyChecks, withEarlierChecks } from '../../../../src/workspace/verify/diff/check-parts.ts'

const PARTS: [path: string, before: string, now: string, restored: string | undefined][] = [
  ['package.json', '{"a":1}', '{"a":2,"b":1}', undefined],
  ['package.json', '{"a":1}', '{"a":2,"mocha":{"spec":"x"}}', '{"a":2,"scripts":{}}'],
  [
    'a/pyproject.toml',
    '[p]\nd=1\n[tool.pytest.ini_options]\na=1',
    '[p]\nd=2',
    '[p]\nd=2\n[tool.pytest.ini_options]\na=1',
  ],
  ['pyproject.toml', '[p]\nd=1\n[tool.mypy]', '[tool.mypy]\n[p]\nd=2', undefined],
  ['setup.cfg', '', '[metadata]\nn=x\n[tool:pytest]\naddopts=-k none', '[metadata]\nn=x'],
  [
    'Cargo.toml',
    '[package]\n[lib]',
    '[package]\n[lib]\ntest=false\n[dependencies]',
    '[package]\n[dependencies]\n[lib]',
  ],
  ['Cargo.toml', '[package]', '[package]\n[[test]]\nname="x"\nharness=false', '[package]'],
  ['vite.config.ts', 'export default {}', 'export default { test: {} }', 'export default {}'],
  ['vite.config.ts', 'export default {}', 'export default { plugins: [] }', undefined],
]

for (const [path, before, now, restored] of PARTS) {
  test(`of ${path} the earlier checks are brought back, and nothing else: ${JSON.stringify(now)}`, () => {
    assert.ok(isPartlyChecks(path))
    assert.equal(hasOtherChecks(path, before, now), restored !== undefined)
    const squeeze = (text: string) => (path === 'package.json' ? JSON.stringify(JSON.parse(text)) : text)
    if (restored !== undefined) assert.equal(squeeze(withEarlierChecks(path, before, now)), restored)
  })
}
