import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { KeptEnvironments } from '../../../src/supervisor/session/kept-environments.ts'
import { pccFor } from '../../cli/pcc.ts'
import { gitProject, tempDir } from '../../support/world.ts'

test('reading a kept environment is HIGH for an agent, wherever PCC_HOME points to', async t => {
  const pcc = pccFor(t)
  const project = gitProject(t)
  const { run } = appPathsFor({ env: pcc.env })
  const dir = join(run, 'secrets')
  new KeptEnvironments(run).keep('s-1', { ANTHROPIC_API_KEY: 'x' }, { onDisk: true })
  for (const args of [
    [`cat ${dir}/s-1.json`],
    [`cat ${dir}/*`],
    [`cp -r ${dir} mine`],
    [`grep -r KEY ${dir}`],
    ['--tool', 'Read', '--path', join(dir, 's-1.json')],
    ['--tool', 'Grep', '--input', JSON.stringify({ pattern: 'KEY', path: dir })],
  ]) {
    const { stdout, stderr } = await pcc.run(['explain', ...args, '--json', '--project', project])
    assert.equal(JSON.parse(stdout || stderr).risk, 'HIGH', args.join(' '))
  }
})

test('an environment that is kept in memory only leaves nothing on the disk, and an earlier file is removed', t => {
  const run = tempDir(t)
  const env = { ANTHROPIC_API_KEY: 'x' }
  const kept = new KeptEnvironments(run)
  kept.keep('s-1', env, { onDisk: true })
  assert.deepEqual(new KeptEnvironments(run).of('s-1'), env)
  kept.keep('s-1', env, { onDisk: false })
  assert.deepEqual(kept.of('s-1'), env)
  assert.equal(new KeptEnvironments(run).of('s-1'), undefined)
  kept.forget('s-1')
  assert.equal(kept.of('s-1'), undefined)
})

test('the next daemon has the environments of open sessions and runs, and forgets all others', t => {
  const dir = tempDir(t)
  const before = new KeptEnvironments(dir)
  for (const id of ['s-open', 's-over', 'r-open', 'r-over']) before.keep(id, { KEY: id }, { onDisk: true })
  const after = new KeptEnvironments(dir)
  after.forgetOver(
    [
      { id: 's-open', state: 'running', ended_as: null },
      { id: 's-over', state: 'ended', ended_as: 'completed' },
    ],
    new Set(['r-open']),
  )
  assert.deepEqual(
    ['s-open', 's-over', 'r-open', 'r-over'].map(id => after.of(id)),
    [{ KEY: 's-open' }, undefined, { KEY: 'r-open' }, undefined],
  )
})
