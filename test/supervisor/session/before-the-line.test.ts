import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { DEFAULT_AGENT } from '../../../src/domain/agent-choice.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import { openStore } from '../../../src/store/open.ts'
import { AdmissionQueue } from '../../../src/supervisor/session/admission.ts'
import { KeptEnvironments } from '../../../src/supervisor/session/kept-environments.ts'
import { LiveSessions } from '../../../src/supervisor/session/live-sessions.ts'
import type { PreparedSession } from '../../../src/supervisor/session/prepare.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

for (const [what, ends] of [
  ['stop', 'stopped'],
  ['pause', 'paused'],
] as const) {
  for (const isHeld of [false, true]) {
    const meets = isHeld ? 'finds its account shut' : 'stands in the line for its place'
    test(`${what} comes through before a session ${meets}`, async t => {
      await using store = await openStore({ file: join(tempDir(t), 'db') })
      const deps = sessionDepsOn(store)
      const {
        row: first,
        settings: { driver, open, policy, guard, brainSettings, consent, quota, checkpointEveryMs, retryMs, budgets },
      } = aLiveSession()
      const shape = { driver, open, policy, guard, brainSettings, consent, quota, checkpointEveryMs, retryMs, budgets }
      const rest = {
        agent: DEFAULT_AGENT,
        manifest: claudeAgent,
        mayRunUnattended: true,
        failover: { order: [], on: [], thresholdMs: 0, costUsd: undefined },
        otherAgentsEnv: {},
        secrets: [],
        budgetsNow: async () => budgets,
        brainKeys: {},
        secretVariables: [],
        keepEnvironment: false,
        maxConcurrent: 1,
        tasksPerProcess: 1,
        maxWaiting: 9,
        guards: aLiveSession().meters.guards.settings,
        notes: [],
        settings: {},
        knowledge: { enabled: false, autoIndex: false },
        account: 'a',
        formerAccounts: [],
      }
      const sandboxIn = async () => undefined
      const ready: PreparedSession = { ...shape, ...rest, sandboxIn, prepareAgain: async () => ready }
      const admission = new AdmissionQueue()
      await admission.enter({ id: 'other', max: 1, waits: () => {}, next: () => {} })
      const kept = new KeptEnvironments(tempDir(t))
      const closing = new AbortController().signal
      const live = new LiveSessions({
        ...{ deps, admission, kept, log: silentLog, closing, settled: () => {}, launched: () => {} },
        handOver: async ending => ending,
      })
      const row = await store.sessions.insert({ ...first, state: 'starting', account: 'a' })
      const now = Date.now()
      if (isHeld) {
        const gate = { window: null, source: null, reason: null, probes: 0, closed_at: null, closed_until: null }
        await store.transaction(tx =>
          store.gates.put({ ...gate, account: 'a', held: true, held_by: 'human', held_at: now }, now, tx),
        )
      }
      const claimed = Promise.withResolvers<undefined>()
      live.launch(row, ready, { prompt: 'first', claim: () => claimed.promise })
      const done = live.get(row.id)?.done
      const steered = what === 'stop' ? live.stop(row.id, 'stopped by a person') : live.pause(row.id)
      claimed.resolve(undefined)
      await Promise.all([steered, done])
      const after = await store.sessions.get(row.id)
      assert.deepEqual([after?.state, after?.ended_as, after?.resumes_at], ['ended', ends, null])
      assert.equal(admission.withdraw(row.id), false)
    })
  }
}
