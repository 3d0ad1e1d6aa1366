import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { openStore } from '../../../src/store/open.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { BIN } from '../../support/program.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'
import { recordRefused } from './inbox/waiting.ts'

/** What bash would offer for a line that ends where the cursor stands. */
async function offered(pcc: Pcc, line: string): Promise<string[]> {
  const { stdout } = await pcc.run(['completion', 'bash'])
  const script = join(pcc.home, 'pcc.bash')
  writeFileSync(script, stdout)
  const bin = join(pcc.home, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'pcc'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`)
  chmodSync(join(bin, 'pcc'), 0o755)
  const words = line.split(' ')
  const body = `source ${script}; COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; compopt() { :; }; _pcc; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = { ...pcc.env, PATH: `${bin}:${pcc.env['PATH']}` }
  const result = spawnSync('bash', ['--norc', '-c', body], { env, encoding: 'utf8' })
  assert.equal(result.status, 0, result.stderr)
  return result.stdout.split('\n').filter(Boolean)
}

test('bash completes commands, subcommands, flags and choices from the table of commands', async t => {
  const pcc = pccFor(t)
  assert.deepEqual(await offered(pcc, 'pcc st'), ['start', 'stop', 'status'])
  assert.deepEqual(await offered(pcc, 'pcc daemon re'), ['restart'])
  assert.deepEqual(await offered(pcc, 'pcc start . --re'), ['--requirements', '--resume', '--record'])
  assert.deepEqual(await offered(pcc, 'pcc resume x --f'), ['--from'])
  assert.deepEqual(await offered(pcc, 'pcc list --da'), ['--data-dir'])
  assert.deepEqual(await offered(pcc, 'pcc completion z'), ['zsh'])
  assert.deepEqual(await offered(pcc, 'pcc session pau'), ['pause'])
  assert.deepEqual(await offered(pcc, 'pcc logs x --level '), ['debug', 'info', 'warn', 'error'])
  assert.deepEqual(await offered(pcc, 'pcc config set sessions.max_c'), ['sessions.max_concurrent'])
})

test('sessions are completed by id and by name, and only from a daemon that runs', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ id: 's-aaaaaa', name: 'first' }])
  assert.deepEqual(await offered(pcc, 'pcc attach f'), [])
  assert.equal((await pcc.run(['daemon', 'status'])).code, 1, 'completing did not start one')
  await pcc.run(['daemon', 'start'])
  assert.deepEqual(await offered(pcc, 'pcc attach f'), ['first'])
  for (const command of ['status', 'pause', 'resume', 'retry', 'stop']) {
    assert.deepEqual(await offered(pcc, `pcc ${command} s-`), ['s-aaaaaa'], command)
  }
})

test('runs, features and the numbers of decisions are completed where they are asked for', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ id: 's-aaaaaa', name: 'first' }])
  await recordRefused(pcc, [{ normalised: 'Bash one' }, { normalised: 'Bash two' }])
  await recordRun(pcc, 'r-5f4e01')
  const project = process.cwd()
  assert.equal((await pcc.run(['task', 'add', 'Build it', '--feature', 'login'], { cwd: project })).code, 0)
  assert.deepEqual(await offered(pcc, 'pcc attach r-'), ['r-5f4e01'])
  assert.deepEqual(await offered(pcc, 'pcc run lo'), ['login'])
  assert.deepEqual(await offered(pcc, 'pcc respond '), ['1', '2'])
})

/** A run that is over, put into the store before a daemon opens it. */
async function recordRun(pcc: Pcc, id: string): Promise<void> {
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const ended = {
    state: 'ended',
    outcome: 'complete',
    reason: null,
    gave_up: null,
    stopping: false,
    ended_at: 1,
  } as const
  const row: RunRow = {
    ...ended,
    id,
    project: '/p',
    target: { kind: 'project' },
    options: {},
    iterations: 1,
    created_at: 0,
  }
  await store.transaction(tx => store.runs.insert(row, tx))
}

test('tasks of this directory are completed by id', async t => {
  const pcc = pccFor(t)
  const { stdout } = await pcc.run(['task', 'add', 'Build it', '--json'], { cwd: process.cwd() })
  const { task } = JSON.parse(stdout) as { task: { id: string } }
  assert.deepEqual(await offered(pcc, 'pcc task show t-'), [task.id])
  assert.deepEqual(await offered(pcc, 'pcc task deps add t-'), [task.id])
})

test('the scripts for zsh and fish know every command too', async t => {
  const pcc = pccFor(t)
  const zsh = (await pcc.run(['completion', 'zsh'])).stdout
  assert.match(zsh, /^#compdef pcc\n/)
  const fish = (await pcc.run(['completion', 'fish'])).stdout
  for (const command of [
    'start',
    'list',
    'status',
    'attach',
    'logs',
    'pause',
    'resume',
    'retry',
    'stop',
    'daemon',
    'demo',
    'simulate',
    'config',
    'trust',
    'agents',
  ]) {
    assert.match(zsh, new RegExp(`'${command}'\\)`))
    assert.match(fish, new RegExp(`^complete -c pcc -f -n '__fish_use_subcommand' -a '${command}' -d '`, 'm'))
  }
  assert.match(fish, /-n '__fish_seen_subcommand_from daemon' -a 'restart'/)
})
