import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { answerWithinMs, daemonWithinMs } from '../../../src/cli/commands/hook.ts'
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
  const calls = [before(home, project, HIGH), before(home, project, 'git status'), stop, { ...stop, adrift: true }]
  const [high, everyday, stopped, adrift] = await playVendor(home, project, calls)
  assert.equal(decisionOf(high), 'deny', JSON.stringify(high))
  assert.equal(decisionOf(everyday), 'allow', JSON.stringify(everyday))
  assert.notEqual(stopped?.code, 0, JSON.stringify(stopped))
  assert.match(stopped?.err ?? '', /agent/i)
  assert.match(adrift?.err ?? '', /agent/i, 'nor does what it started and left')
  assert.equal(readdirSync(join(daemon.paths.run, 'vendor-processes')).length, 1, 'its process is known')
  const { events } = (await daemon.call('GET', '/hook-events?tail=50')).body
  const verdicts = events.flatMap(({ body }: { body: { type: string; verdict?: string } }) => body.verdict ?? [])
  assert.deepEqual(verdicts, ['deny', 'allow'], 'what happened is in the log')
  assert.equal(existsSync(join(daemon.paths.data, 'hook-outbox')), false, 'the hooks reached the daemon')

  const env = { ...bareEnv(home), PCC_HOME: join(home, 'pcc') }
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
