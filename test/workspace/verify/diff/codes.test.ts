import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DIFF_CODES } from '../../../../src/workspace/verify/diff/rule.ts'

const root = join(import.meta.dirname, '../../../..')
const source = join(root, 'src/workspace/verify/diff')
const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts') && name !== 'rule.ts')
  .map(name => readFileSync(join(source, name), 'utf8'))
  .join('\n')
const page = readFileSync(join(root, 'docs/verification-findings.md'), 'utf8')

for (const [name, sentence] of Object.entries(DIFF_CODES))
  test(`the finding ${name} is said by a rule, and stands in the documentation`, () => {
    assert.ok(code.includes(`'${name}'`), 'no rule says it')
    assert.ok(
      page.includes(`| \`${name}\` | ${sentence}`),
      `add to docs/verification-findings.md: | \`${name}\` | ${sentence} | block or note |`,
    )
  })
