import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pccFor } from '../pcc.ts'

test('pcc report shows a night without work as text, as JSON and as a page that only its owner can read', async t => {
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
  assert.match(wrong.stderr, /"then" cannot be understood[\s\S]*next: Write it as/)
  assert.match((await pcc.run(['report', '--since', 'tomorrow 10:00'])).stderr, /cannot be understood/)
})

test('pcc report --html refuses a folder, and writes to a pipe without replacing it', async t => {
  const pcc = pccFor(t)
  const folder = await pcc.run(['report', '--html', pcc.home])
  assert.deepEqual([folder.code, /it is a folder/.test(folder.stderr)], [2, true], folder.stderr)
  const pipe = join(pcc.home, 'pipe')
  execFileSync('mkfifo', [pipe])
  const [page, { code }] = await Promise.all([readFile(pipe, 'utf8'), pcc.run(['report', '--html', pipe])])
  assert.deepEqual([code, page.slice(0, 15), lstatSync(pipe).isFIFO()], [0, '<!doctype html>', true])
})

test('a TZ that names no time zone is accepted, and its offset counts', async t => {
  const pcc = pccFor(t)
  for (const TZ of [':/etc/localtime', 'UTC-3', '']) {
    const { code, stderr } = await pcc.run(['report'], { env: { TZ } })
    assert.deepEqual([code, stderr], [0, ''], TZ)
  }
  const set = await pcc.run(['run', '.', '--at', '02:00', '--json'], { env: { TZ: 'UTC-3' } })
  const { due_at, zone } = JSON.parse(set.stdout)
  assert.deepEqual([new Date(due_at).getUTCHours(), zone], [23, '+03:00'])
})
