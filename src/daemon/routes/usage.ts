import { realpath } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { statusOf } from '../../domain/api.ts'
import { type BudgetRow, type BudgetScope, type Budgets, type BudgetView, NOTHING_SPENT } from '../../domain/budget.ts'
import { EVERY_ACCOUNT } from '../../domain/limit.ts'
import { accountsMeant, HoldQuota, type QuotaView, ReleaseQuota, type WaitingSession } from '../../domain/quota.ts'
import type { SpendingKey } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { readBudgets } from '../../supervisor/session/settings.ts'
import { calendarDayOf, startOfNextDay } from '../../tasks/budgets.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'

const BudgetQuery = z.strictObject({ project: z.string().min(1).optional() })
const BudgetReset = z.strictObject({ project: z.string().min(1) })

/** What is spent, what is left, and counting a project from zero again. */
export function budgetRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/budget', async request => {
    const { project } = parseRequest(BudgetQuery, request.query, 'GET /budget')
    return budgetView(project === undefined ? undefined : await real(project), daemon)
  })

  app.post('/budget/reset', async request => {
    const project = await real(parseRequest(BudgetReset, request.body ?? {}, 'POST /budget/reset').project)
    const key = { scope: 'project', key: project } as const
    const [before] = await daemon.store.spending.of([key])
    if (!before) throw new AppError('budget_untouched', { project })
    await daemon.store.transaction(async tx => {
      await daemon.store.spending.forget(key, tx)
      const text = `A person let the budget of ${project} count from zero (pcc budget reset).`
      await tx.append([{ actor: 'human', subject: 'daemon', kind: 'session.noted', body: { text } }])
    })
    return budgetView(project, daemon)
  })
}

async function budgetView(project: string | undefined, daemon: DaemonContext): Promise<BudgetView> {
  const at = Date.now()
  const sessions = (await daemon.store.sessions.list({ project })).filter(isOpen)
  const projects = project === undefined ? new Set(sessions.map(row => row.project)) : new Set([project])
  const wanted: Wanted[] = [
    { scope: 'day', key: calendarDayOf(at), name: 'today', budgets: await own(daemon, project) },
  ]
  for (const each of projects) {
    wanted.push({ scope: 'project', key: each, name: basename(each), budgets: await own(daemon, each) })
  }
  for (const row of sessions) {
    const budgets = daemon.supervisor.run(row.id)?.budgets ?? (await sessionBudgets(row, daemon))
    wanted.push({ scope: 'session', key: row.id, name: row.name, budgets })
    const task = row.task_id === null ? undefined : await daemon.store.tasks.get(row.task_id)
    if (task) wanted.push({ scope: 'task', key: task.id, name: task.title, budgets })
  }
  const spent = await daemon.store.spending.of(wanted)
  return { at, day_ends_at: startOfNextDay(at), scopes: wanted.map(each => rowOf(each, spent)) }
}

interface Wanted extends SpendingKey {
  name: string
  budgets: Budgets
}

type Spent = Awaited<ReturnType<DaemonContext['store']['spending']['of']>>

function rowOf({ scope, key, name, budgets }: Wanted, spent: Spent): BudgetRow {
  const found = spent.find(row => row.scope === scope && row.key === key)
  const { turns, tokens, cost_usd, wall_minutes } = found ?? NOTHING_SPENT
  const limits = budgets[scope]
  const isBound = Object.values(limits).some(limit => limit !== undefined)
  const spentHere = { turns, tokens, cost_usd, wall_minutes }
  return { scope, key, name, spent: spentHere, limits, at_bound: isBound ? AT_BOUND[scope] : null }
}

const AT_BOUND: Record<BudgetScope, string> = {
  task: 'its session pauses after the tool in flight',
  session: 'it pauses after the tool in flight',
  day: 'every session pauses after its tool in flight and goes on tomorrow',
  project: 'its sessions pause after their tool in flight',
}

/** Those that can spend more without anybody starting something new. */
function isOpen({ state, ended_as }: SessionRow): boolean {
  return state !== 'ended' || (ended_as !== 'completed' && ended_as !== 'stopped')
}

function own({ paths, agentEnv }: DaemonContext, project: string | undefined): Promise<Budgets> {
  return readBudgets(project === undefined ? {} : { project }, { paths, env: agentEnv })
}

function sessionBudgets({ project, options }: SessionRow, { paths, agentEnv }: DaemonContext): Promise<Budgets> {
  return readBudgets({ project, options }, { paths, env: agentEnv })
}

/** Projects are stored by their real path; one that is gone is looked up as it is spelled. */
function real(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

/** How full the accounts are, who waits for them, and a person's hand on their gates. */
export function quotaRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/quota', () => quotaView(daemon))

  app.post('/quota/hold', async request => {
    const { account } = parseRequest(HoldQuota, request.body ?? {}, 'POST /quota/hold')
    await daemon.gates.hold(await accountNamed(account, daemon), 'human')
    await daemon.supervisor.gatesChanged()
    return quotaView(daemon)
  })

  app.post('/quota/release', async request => {
    const { account, now } = parseRequest(ReleaseQuota, request.body ?? {}, 'POST /quota/release')
    const named = await accountNamed(account, daemon)
    await daemon.gates.release(named)
    const tried = now ? await daemon.supervisor.tryNow(named) : undefined
    await daemon.supervisor.gatesChanged()
    return { ...(await quotaView(daemon)), ...(tried && { tried }) }
  })
}

async function quotaView(daemon: DaemonContext): Promise<QuotaView> {
  const [known, gates, sessions] = await Promise.all([
    daemon.quota.list(),
    daemon.gates.list(),
    daemon.store.sessions.list(),
  ])
  const waiting = sessions.filter(isWaiting)
  const every = gates.find(({ account }) => account === EVERY_ACCOUNT)
  return {
    at: Date.now(),
    accounts: known.map(quota => ({
      ...quota,
      gate: gates.find(({ account }) => account === quota.account) ?? null,
      waiting: waiting.filter(({ account }) => account === quota.account).map(row => waitingView(row, daemon)),
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

function waitingView(row: SessionRow, { bootId }: DaemonContext): WaitingSession {
  const { id, name, resumes_at } = row
  return { id, name, status: statusOf(row, bootId).status, resumes_at, held: row.held_at !== null }
}

/** The one account that a person means, or all of them. */
async function accountNamed(ref: string | undefined, daemon: DaemonContext): Promise<string> {
  if (ref === undefined || ref === EVERY_ACCOUNT) return EVERY_ACCOUNT
  const found = accountsMeant(ref, await daemon.quota.list())
  const [only, ...others] = found
  if (!only) throw new AppError('account_unknown', { ref })
  if (others.length === 0) return only.account
  const matches = found.map(({ account, label }) => `${account} (${label})`).join(', ')
  throw new AppError('account_ambiguous', { ref, matches })
}
