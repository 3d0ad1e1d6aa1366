import type { TestContext } from 'node:test'
import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openAuthenticator } from '../../../src/daemon/api/authenticate.ts'
import { ApiKeys } from '../../../src/daemon/api/keys.ts'
import { openLazyMetrics } from '../../../src/daemon/api/metrics.ts'
import type { DaemonContext } from '../../../src/daemon/context.ts'
import { deliverAnswers } from '../../../src/daemon/deliver-answers.ts'
import { openLazyPolicy } from '../../../src/daemon/lazy-services.ts'
import { buildServer } from '../../../src/daemon/routes/server.ts'
import { openWebhooks } from '../../../src/daemon/webhooks/webhooks.ts'
import { openSecrets } from '../../../src/domain/config/open-secrets.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { AttachedTerminals } from '../../../src/human/terminals.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { startCodeSearch } from '../../../src/supervisor/knowledge/code-search.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { Supervisor } from '../../../src/supervisor/supervisor.ts'
import { NOT_INDEXED, NOT_LEARNING, tempDir, UNPROVEN_ALLOWED } from '../../support/world.ts'
import type { ScriptedAgent } from '../session/scripted-agent.ts'
import { mortalStore } from './mortal-store.ts'

/** One life of a daemon. */
export interface Life {
  supervisor: Supervisor
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<{ status: number; body: Reply }>
  /** Dies at once, or with a later transaction; resolves when nothing of it runs any more. */
  die(at?: { transactions: number; when: 'before' | 'after' }): Promise<void>
  /** Ends as with `pcc daemon stop`; with `goOn` as for a restart. */
  end(options: { goOn: boolean }): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
type Reply = any

export interface Lives {
  /** The store outlives every daemon. */
  store: Store
  project: string
  time: { ahead: number }
  /** Nothing new may start while it is full. */
  disk: { isFull: boolean }
  /** Begins the next life; the one before must be over. */
  begin(): Promise<Life>
}

const TOKEN = 'a-token-of-this-test-only'

/** Daemons in this process, one after the other on one database, with an agent that follows a script. */
export async function openLives(
  t: TestContext,
  agent: ScriptedAgent,
  env: Record<string, string> = {},
): Promise<Lives> {
  const home = tempDir(t)
  const project = tempDir(t, 'pcc-project-')
  const store = await openStore({ file: `${home}/db` })
  const time = { ahead: 0 }
  const disk = { isFull: false }
  const clock = { now: () => Date.now() + time.ahead }
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  const policy = openLazyPolicy()
  let boots = 0
  let current: Life | undefined
  t.after(async () => {
    await current?.die()
    policy[Symbol.dispose]()
    await store.close()
  })
  return {
    store,
    project,
    time,
    disk,
    async begin() {
      const { store: mortal, die, dieAt } = mortalStore(store)
      const bootId = `boot-${++boots}`
      const gates = openAccountGates({ store: mortal, clock })
      const quota = openQuota({ store: mortal, clock, settings: async () => nestValues(defaultValues()).quota })
      const terminals = new AttachedTerminals()
      const code = startCodeSearch(paths)
      const memory = openSupervisorMemory({ paths, env: NOT_LEARNING, store: mortal, log: silentLog })
      const secrets = openSecrets({ paths, env })
      const supervisor = new Supervisor({
        ...{
          secrets,
          store: mortal,
          terminals,
          policy,
          clock,
          paths,
          quota,
          gates,
          code,
          memory,
          bootId,
          log: silentLog,
          agentEnv: {},
        },
        env: { ...UNPROVEN_ALLOWED, ...NOT_INDEXED, ...NOT_LEARNING, ...env, HOME: home },
        brainsFor: async () => [],
        driverFor: async () => agent.driver,
        mayStart: () => (disk.isFull ? 'the disk is full' : undefined),
      })
      const over = new AbortController()
      const keys = new ApiKeys({ store: mortal, clock, failed: () => {} })
      const world: DaemonContext = {
        metrics: openLazyMetrics(() => world),
        ...{
          keys,
          authenticator: openAuthenticator({ keys, verifyJwt: () => Promise.reject(new Error('no tokens here')) }),
        },
        accepted: { accept: async () => {} },
        secrets,
        webhooks: openWebhooks(() => world, {}),
        ...{
          paths,
          version: '0',
          agentEnv: {},
          bootId,
          startedAt: 0,
          token: TOKEN,
          log: silentLog,
          access: silentLog,
          store: mortal,
        },
        ...{
          terminals,
          supervisor,
          quota,
          gates,
          code,
          memory,
          policy,
          streams: new Set(),
          stop: () => undefined,
          cutsOff: false,
          person: 'human',
        },
        brainsFor: async () => [],
        disk: { report: () => ({ state: 'ok', reason: '' }) },
        watchdogSeconds: 60,
        stopping: over.signal,
        settled: over.signal,
      }
      const app = buildServer(world)
      await supervisor.recover(new Set())
      const [last] = await mortal.events({ tail: 1 })
      const delivered = deliverAnswers(world).catch(() => undefined) // the daemon may die meanwhile
      supervisor.wakeWaiting()
      await supervisor.completion.lookAtAll()
      await supervisor.runs.lookAtAll()
      const following = Promise.all([
        supervisor.runs.follow(last?.id ?? 0, over.signal),
        supervisor.completion.follow(last?.id ?? 0, over.signal),
      ]).catch(() => undefined) // the daemon may die meanwhile
      const close = async (goOn: boolean) => {
        over.abort()
        await supervisor.close('the daemon was stopped', { goOn }).catch(() => undefined) // a dead daemon cannot write
        await Promise.all([delivered, following])
        await app.close()
      }
      const life: Life = {
        supervisor,
        async call(method, url, body) {
          const headers = { host: 'pcc', authorization: `Bearer ${TOKEN}` }
          const reply = await app.inject({ method, url, headers, ...(body && { payload: body }) })
          return { status: reply.statusCode, body: reply.json() }
        },
        async die(at) {
          if (at) await new Promise<void>(resolve => dieAt(at.transactions, at.when, resolve))
          die()
          await close(true)
        },
        end: ({ goOn }) => close(goOn),
      }
      current = life
      return life
    },
  }
}
