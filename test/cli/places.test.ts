import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gitProject } from '../support/world.ts'
import { pccFor } from './pcc.ts'

test('every command refuses a named config file that does not exist, with and without a daemon', async t => {
  const pcc = pccFor(t)
  const assertRefused = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stderr } = await pcc.run(args, { env })
    assert.equal(code, 2, `${args}: ${stderr}`)
    assert.match(stderr, /nope\.toml cannot be read: it does not exist/)
  }
  await assertRefused(['--config', 'nope.toml', 'list'])
  assert.equal((await pcc.run(['list'])).code, 0)
  await assertRefused(['--config', 'nope.toml', 'list'])
  await assertRefused(['list', '--data-dir', join(pcc.home, 'pcc', 'data')], { PCC_CONFIG: '/nowhere/nope.toml' })
  await assertRefused(['status', 'x', '--config', 'nope.toml'])
  await assertRefused(['start', gitProject(t), '--task', 'x', '--config', 'nope.toml'])
  await assertRefused(['config', 'show', '--config', 'nope.toml'])
})

test('an empty path for the config file or the data directory is refused, because it comes from an unset variable', async t => {
  const pcc = pccFor(t)
  for (const option of ['--data-dir', '--config']) {
    for (const args of [
      [option, '', 'list'],
      ['list', `${option}=`],
      ['pending', option, ''],
      [option, ''],
    ]) {
      const { code, stdout, stderr } = await pcc.run(args)
      assert.deepEqual([code, stdout], [2, ''], args.join(' '))
      assert.match(stderr, new RegExp(`${option} <path>' argument '' is invalid. It is empty; name a path`))
    }
  }
})

test('a misspelt setting variable is refused when a session is started', async t => {
  const pcc = pccFor(t, { PCC_SESSION_MAX_CONCURRENT: '2' })
  const { code, stderr } = await pcc.run(['start', gitProject(t), '--task', 'x', '--detach'])
  assert.equal(code, 2)
  assert.match(stderr, /PCC_SESSION_MAX_CONCURRENT: .*did you mean "sessions\.max_concurrent"/)
})

test('a relative PCC_HOME is refused', async t => {
  const { code, stderr } = await pccFor(t).run(['list'], { env: { PCC_HOME: 'here' } })
  assert.equal(code, 2)
  assert.match(stderr, /PCC_HOME: expected an absolute path, found "here"/)
})

test('a data directory that is a file, and a file that is not a database, are named with what to do', async t => {
  const pcc = pccFor(t)
  const file = join(pcc.home, 'plain')
  writeFileSync(file, 'x')
  const inFile = await pcc.run(['list', '--data-dir', file])
  assert.match(inFile.stderr, new RegExp(`data directory ${file} cannot be used: there is a file in its place`))
  writeFileSync(join(pcc.home, 'perpetualcc.db'), 'this is no database, however long it may be')
  const foreign = await pcc.run(['list', '--data-dir', pcc.home])
  assert.match(foreign.stderr, /perpetualcc\.db is not a database of pcc: .*\n.*Move it away/)
})
