import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { ANSWER_WITHIN_MS, OTHER_WITHIN_MS } from '../../../src/cli/commands/hook.ts'
import { HOOK_VENDORS, type HookEventKind } from '../../../src/domain/hooks.ts'
import { startDaemon } from '../../daemon/daemon-process.ts'
import { BIN } from '../../support/program.ts'
import { bareEnv, COMPILED, gitProject, tempDir } from '../../support/world.ts'

/** Plays the vendor's program: a hook registers the process that starts it, which must not be the one of the tests. */
const VENDOR = `
const { spawnSync } = require('node:child_process')
const { node, calls, cwd } = JSON.parse(process.argv[1])
const results = calls.map(({ args, input }) => {
  const { status, stdout, stderr } = spawnSync(node, args, { cwd, input, encoding: 'utf8' })
  return { code: status, out: stdout, err: stderr }
})
process.stdout.write(JSON.stringify(results))
`

interface VendorCall {
  args: string[]
  input?: string
}

interface Ended {
  code: number | null
  out: string
  err: string
}

function playVendor(home: string, cwd: string, calls: VendorCall[]): Promise<Ended[]> {
  const work = JSON.stringify({
    node: process.execPath,
    cwd,
    calls: calls.map(call => ({ ...call, args: [BIN, ...call.args] })),
  })
  const env = { ...bareEnv(home), ...COMPILED, PCC_HOME: join(home, 'pcc') }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['-e', VENDOR, work], { env, encoding: 'utf8' }, (error, stdout) => {
      if (error) reject(error)
      else resolve(JSON.parse(stdout) as Ended[])
    })
  })
}

/** A hook of Claude Code before a command. */
function before(home: string, cwd: string, command: string): VendorCall {
  const call = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command }, permission_mode: 'default' }
  const base = { session_id: 's-1', transcript_path: '', cwd, hook_event_name: 'PreToolUse' }
  return {
    args: ['hook', 'claude', 'PreToolUse', '--home', join(home, 'pcc')],
    input: JSON.stringify({ ...base, ...call }),
  }
}

const decisionOf = ({ out }: Ended | undefined = { code: 0, out: '', err: '' }) =>
  out === '' ? undefined : JSON.parse(out).hookSpecificOutput?.permissionDecision

const HIGH = 'git push --force origin main'

test('a hook answers before its vendor stops waiting', () => {
  for (const { events, timeouts, name } of HOOK_VENDORS.map(vendor => hookTranslator(vendor).manifest)) {
    for (const [kind, natives] of Object.entries(events)) {
      const waitsMs = (timeouts[kind as HookEventKind] ?? timeouts.other) * 1000
      for (const native of natives)
        assert.ok((ANSWER_WITHIN_MS[native] ?? OTHER_WITHIN_MS) < waitsMs, `${name} ${native}`)
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
  const calls = [before(home, project, HIGH), before(home, project, 'git status'), stop]
  const [high, everyday, stopped] = await playVendor(home, project, calls)
  assert.equal(decisionOf(high), 'deny', JSON.stringify(high))
  assert.equal(decisionOf(everyday), 'allow', JSON.stringify(everyday))
  assert.notEqual(stopped?.code, 0, JSON.stringify(stopped))
  assert.match(stopped?.err ?? '', /agent/i)
  const { events } = (await daemon.call('GET', '/hook-events?tail=50')).body
  const verdicts = events.flatMap(({ body }: { body: { type: string; verdict?: string } }) => body.verdict ?? [])
  assert.deepEqual(verdicts, ['deny', 'allow'], 'what happened is in the log')
  assert.equal(existsSync(join(daemon.paths.data, 'hook-outbox')), false, 'the hooks reached the daemon')
})
