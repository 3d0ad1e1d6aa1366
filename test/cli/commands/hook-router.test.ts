import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { rawStartTime } from '../../../src/base/process/process-table.ts'
import { answerWithinMs, daemonWithinMs, refuseUnlessAnswered } from '../../../src/cli/commands/hook.ts'
import { HOOK_VENDORS, type HookEventKind } from '../../../src/domain/hooks.ts'
import { startDaemon } from '../../daemon/daemon-process.ts'
import { BIN } from '../../support/program.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { before, decisionOf, playVendor } from './play-vendor.ts'

const HIGH = 'git push --force origin main'

test('a hook answers before its vendor stops waiting', () => {
  for (const { vendor, events, timeouts, name } of HOOK_VENDORS.map(vendor => hookTranslator(vendor).manifest)) {
    for (const [kind, natives] of Object.entries(events)) {
      const waitsMs = (timeouts[kind as HookEventKind] ?? timeouts.other) * 1000
      for (const native of natives) {
        assert.ok(answerWithinMs(vendor, native) < waitsMs, `${name} ${native}`)
        assert.equal(
          daemonWithinMs(vendor, native) <= 5_000,
          !['permission', 'stop'].includes(kind),
          `${name} ${native}`,
        )
      }
    }
  }
})

test('an answer that fails or comes too late refuses a call, and holds nothing else', async () => {
  const late = () => new Promise<never>(() => {})
  const broken = () => Promise.reject(new Error('broken'))
  for (const answer of [late, broken]) {
    const refused = await refuseUnlessAnswered({ vendor: 'codex', event: 'PreToolUse' }, 1, answer())
    assert.deepEqual([refused.exit, refused.stdout], [2, ''])
    assert.match(refused.stderr, answer === late ? /not decide in time/ : /could not judge this: broken/)
    const silent = await refuseUnlessAnswered({ vendor: 'codex', event: 'Stop' }, 1, answer())
    assert.deepEqual(silent, { stdout: '', stderr: '', exit: 0 })
  }
})

test('without a daemon a hook refuses a HIGH call, allows an everyday one, refuses what it cannot read, and keeps all for later', async t => {
  const home = realpathSync(tempDir(t))
  const project = realpathSync(gitProject(t))
  const unreadable = { ...before(home, project, 'git status'), input: '{"tool_name":' }
  const empty = { ...before(home, project, 'git status'), input: '{}' }
  const calls = [before(home, project, HIGH), before(home, project, 'git status'), unreadable, empty]
  const [high, everyday, ...wrong] = await playVendor(home, project, calls)
  assert.equal(decisionOf(high), 'deny', JSON.stringify(high))
  assert.equal(decisionOf(everyday), 'allow', JSON.stringify(everyday))
  for (const refused of wrong) assert.ok(refused.code === 2 || decisionOf(refused) === 'deny', JSON.stringify(refused))
  assert.equal(wrong.length, 2)
  assert.ok(existsSync(join(home, 'pcc/data/hook-outbox')), 'what happened is kept for the next daemon')
})

test('a daemon judges by the same rules, and the agent that asked never speaks for a person', async t => {
  const daemon = await startDaemon(t)
  const home = realpathSync(daemon.home)
  const project = realpathSync(gitProject(t))
  const stop = { args: ['daemon', 'stop'] }
  const unreadable = { ...before(home, project, 'git status'), input: '{"tool_name":' }
  const hooks = [before(home, project, HIGH), before(home, project, 'git status'), unreadable]
  const calls = [...hooks, stop, { ...stop, adrift: true }]
  const [high, everyday, refused, stopped, adrift] = await playVendor(home, project, calls)
  assert.equal(decisionOf(high), 'deny', JSON.stringify(high))
  assert.equal(decisionOf(everyday), 'allow', JSON.stringify(everyday))
  assert.equal(refused?.code, 2, JSON.stringify(refused))
  assert.notEqual(stopped?.code, 0, JSON.stringify(stopped))
  assert.match(stopped?.err ?? '', /agent/i)
  assert.match(adrift?.err ?? '', /agent/i, 'nor does what it started and left')
  assert.equal(readdirSync(join(daemon.paths.run, 'vendor-processes')).length, 1, 'its process is known')
  const { events } = (await daemon.call('GET', '/hook-events?tail=50')).body
  const verdicts = events.flatMap(({ body }: { body: { type: string; verdict?: string } }) => body.verdict ?? [])
  assert.deepEqual(verdicts, ['deny', 'allow'], 'what happened is in the log')
  assert.equal(existsSync(join(daemon.paths.data, 'hook-outbox')), false, 'the hooks reached the daemon')

  const env = { ...bareEnv(home), PCC_HOME: join(home, 'pcc') }
  // Where a process cannot be branded, it and all below it are known by its number and start.
  const script = 'read go; "$0" "$@"; exit $?'
  const unbranded = spawn('/bin/sh', ['-c', script, process.execPath, BIN, 'daemon', 'stop'], { env })
  const name = `${unbranded.pid}-${rawStartTime(unbranded.pid ?? 0)}`
  writeFileSync(join(daemon.paths.run, 'vendor-processes', name), '')
  unbranded.stdin.end('go\n')
  assert.match(await text(unbranded.stderr), /agent/i)

  const following = spawn(process.execPath, [BIN, 'hooks', 'log', '-f', '--json', '--tail', '2'], { env })
  t.after(() => following.kill('SIGKILL'))
  const lines = createInterface(following.stdout)[Symbol.asyncIterator]()
  const next = async () => JSON.parse(String((await lines.next()).value)) as { kind: string; body: { type: string } }
  assert.deepEqual([(await next()).body.type, (await next()).body.type], ['bash_command', 'call_decided'])
  await playVendor(home, project, [before(home, project, 'git log')])
  assert.equal((await next()).body.type, 'tool_use_start', 'it goes on with what comes')
  const log = execFileSync(process.execPath, [BIN, 'hooks', 'log'], { env, encoding: 'utf8' })
  assert.match(log, /claude wants to run git push --force origin main\n.*claude Bash: deny \(HIGH\)/)
})
