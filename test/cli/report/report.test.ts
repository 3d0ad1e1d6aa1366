import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pccFor } from '../pcc.ts'

test('pcc report: a night in which nothing happened, as text, as JSON and as a page that only its person can read', async t => {
  const pcc = pccFor(t)
  const plain = await pcc.run(['report', '--since', '8h'])
  assert.match(plain.stdout, /^Report · .* \(8h 0m\)\n\nNothing was worked on\.\n$/, plain.stderr)
  const { done, spent, project } = JSON.parse((await pcc.run(['report', '--json', '--project', pcc.home])).stdout)
  assert.deepEqual([done, spent.cost_usd, project], [[], 0, pcc.home])
  const page = join(pcc.home, 'night.html')
  assert.equal((await pcc.run(['report', '--html', page])).stdout, `Written: ${page}\n`)
  assert.match(readFileSync(page, 'utf8'), /^<!doctype html>[\s\S]*Nothing was worked on/)
  assert.equal(statSync(page).mode & 0o777, 0o600)
  const wrong = await pcc.run(['report', '--since', 'then'])
  assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
  assert.match(wrong.stderr, /"then" cannot be understood[\s\S]*next: Say it as/)
  assert.match((await pcc.run(['report', '--since', 'tomorrow 10:00'])).stderr, /cannot be understood/)
})
