import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { tempDir } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

test('a person writes notes down, finds, changes and removes them, and no daemon is needed', async t => {
  const pcc = pccFor(t)
  const cwd = tempDir(t)
  const notes = async (...args: string[]) => pcc.run(['notes', ...args], { cwd })
  assert.match((await notes()).stdout, /^No notes yet\. Write one with: pcc notes add /)
  const file = '.perpetualcc/knowledge/totals-are-cents.md'
  assert.equal(
    (await notes('add', 'Totals are cents', 'Integers.', '--tags', 'cart,money')).stdout,
    `Written: Totals are cents (${file})\n`,
  )
  assert.match(
    (await notes('add', 'totals are CENTS', 'Never floats.', '--tags', 'cart,money')).stdout,
    /^Written; it replaces the previous note/,
  )
  assert.match(
    (await notes('add', 'Tax', 'By country.', '-t', 'money,cart')).stdout,
    /^Added to a note with nearly the same tags: totals are CENTS .*--apart/,
  )
  assert.match((await notes('add', 'Tax', 'By country.', '-t', 'money,cart', '--apart')).stdout, /^Written: Tax/)
  const listed = await notes('search', 'never', 'float')
  assert.equal(
    listed.stdout,
    'totals are CENTS  person, just now\n  totals-are-cents.md  #cart #money\n  Never floats. Tax: By country.\n',
  )
  const { notes: found, broken } = JSON.parse((await notes('--tag', 'cart', '--json')).stdout)
  assert.deepEqual([found.length, broken], [2, []])
  assert.match(
    (await notes('show', 'tax')).stdout,
    /^Tax\n#money #cart · person, just now · \.perpetualcc\/knowledge\/tax\.md\n\nBy country\.\n/,
  )

  const editor = join(cwd, 'editor')
  writeFileSync(editor, '#!/bin/sh\nprintf -- "---\\ntitle: Taxes\\n---\\nAll of them.\\n" > "$2"\n')
  chmodSync(editor, 0o755)
  const edited = await pcc.run(['notes', 'edit', 'tax.md'], { cwd, env: { EDITOR: `${editor} --wait` } })
  assert.equal(edited.stdout, 'Saved: Taxes (.perpetualcc/knowledge/tax.md)\n', edited.stderr)
  assert.match(readFileSync(join(cwd, '.perpetualcc/knowledge/tax.md'), 'utf8'), /All of them/)
  const failed = await pcc.run(['notes', 'edit', 'tax'], { cwd, env: { EDITOR: 'false' } })
  assert.deepEqual([failed.code, /could not be used: it ended with 1/.test(failed.stderr)], [2, true])

  assert.equal((await notes('rm', 'tax')).code, 3, 'nobody can be asked')
  assert.equal((await notes('rm', 'tax', '--yes')).stdout, 'Deleted: .perpetualcc/knowledge/tax.md\n')
  assert.ok(!existsSync(appPathsFor({ env: pcc.env }).socket), 'no daemon was started')
})

test('errors are reported: no such note, several, a broken one, an empty one, and an agent that writes', async t => {
  const pcc = pccFor(t)
  const cwd = tempDir(t)
  const folder = join(cwd, '.perpetualcc/knowledge')
  mkdirSync(folder, { recursive: true })
  for (const name of ['one-a', 'one-b']) writeFileSync(join(folder, `${name}.md`), `---\ntitle: ${name}\n---\nx\n`)
  writeFileSync(join(folder, 'bad.md'), 'no front matter')
  const failure = async (...args: string[]) => {
    const { code, stderr } = await pcc.run(['notes', ...args], { cwd })
    assert.equal(code, 2, stderr)
    return stderr
  }
  assert.match(await failure('show', 'nope'), /There is no note "nope"/)
  assert.match(await failure('show', 'one'), /matches several notes: one-a\.md, one-b\.md/)
  assert.match(
    await failure('show', 'bad'),
    /bad\.md is not a valid note: it does not begin with front matter.*\n.*pcc notes edit bad\.md/,
  )
  assert.match(await failure('add', 'x', ' '), /was not saved: it is empty/)
  assert.match(await failure('add', 'x'), /Say what is worth knowing/)
  assert.match(
    (await pcc.run(['notes'], { cwd })).stdout,
    /\n\nwarning: \.perpetualcc\/knowledge\/bad\.md is left out: it does not/,
  )
  const { name } = (await import('../../../src/base/process/marker.ts')).sessionMarker('')
  const agent = await pcc.run(['notes', 'add', 'x', 'y'], { cwd, env: { [name]: 's-1' } })
  assert.notEqual(agent.code, 0)
  assert.ok(!existsSync(join(folder, 'x.md')))
})
