import type { FastifyInstance } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { EVERY_ACCOUNT } from '../../domain/account/limit.ts'
import {
  accountsMeant,
  HoldQuota,
  type QuotaView,
  ReleaseQuota,
  type WaitingSession,
} from '../../domain/account/quota.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'

/** How full the accounts are, who waits for them, and a person's hand on their gates. */
export function quotaRoutes(app: FastifyInstance, world: World): void {
  app.get('/quota', () => quotaView(world))

  app.post('/quota/hold', async request => {
    const { account } = checked(HoldQuota, request.body ?? {}, 'POST /quota/hold')
    await world.gates.hold(await accountNamed(account, world), 'human')
    await world.supervisor.gatesChanged()
    return quotaView(world)
  })

  app.post('/quota/release', async request => {
    const { account, now } = checked(ReleaseQuota, request.body ?? {}, 'POST /quota/release')
    const named = await accountNamed(account, world)
    await world.gates.release(named)
    const tried = now ? await world.supervisor.tryNow(named) : undefined
    await world.supervisor.gatesChanged()
    return { ...(await quotaView(world)), ...(tried && { tried }) }
  })
}

async function quotaView(world: World): Promise<QuotaView> {
  const [known, gates, sessions] = await Promise.all([
    world.quota.list(),
    world.gates.list(),
    world.store.sessions.list(),
  ])
  const waiting = sessions.filter(isWaiting)
  const every = gates.find(({ account }) => account === EVERY_ACCOUNT)
  return {
    at: Date.now(),
    accounts: known.map(quota => ({
      ...quota,
      gate: gates.find(({ account }) => account === quota.account) ?? null,
      waiting: waiting.filter(({ account }) => account === quota.account).map(row => waitingView(row, world)),
    })),
    hold: every?.held ? { by: every.held_by ?? 'human', at: every.held_at ?? 0 } : null,
  }
}

/** Those that will go on at a time, and those that would if a person let them. */
function isWaiting({ state, ended_as, resumes_at, held_at }: SessionRow): boolean {
  if (state === 'queued') return true
  if (state !== 'ended' || ended_as === 'completed' || ended_as === 'stopped') return false
  return resumes_at !== null || held_at !== null || ended_as === 'rate_limited'
}

function waitingView(row: SessionRow, { bootId }: World): WaitingSession {
  const { id, name, resumes_at } = row
  return { id, name, status: statusOf(row, bootId).status, resumes_at, held: row.held_at !== null }
}

/** The one account that a person means, or all of them. */
async function accountNamed(ref: string | undefined, world: World): Promise<string> {
  if (ref === undefined || ref === EVERY_ACCOUNT) return EVERY_ACCOUNT
  const found = accountsMeant(ref, await world.quota.list())
  const [only, ...others] = found
  if (!only) throw new AppError('account_unknown', { ref })
  if (others.length === 0) return only.account
  const matches = found.map(({ account, label }) => `${account} (${label})`).join(', ')
  throw new AppError('account_ambiguous', { ref, matches })
}
