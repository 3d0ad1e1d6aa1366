import { basename } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { statusOf } from '../../domain/api.ts'
import {
  type BudgetRow,
  type BudgetScope,
  type Budgets,
  type BudgetView,
  eachMeasure,
  spentByPurpose,
} from '../../domain/budget.ts'
import { EVERY_ACCOUNT } from '../../domain/limit.ts'
import { HoldQuota, matchAccounts, type QuotaView, ReleaseQuota, type WaitingSession } from '../../domain/quota.ts'
import type { SpendingKey } from '../../store/spending.ts'
import type { PurposeRow, SessionRow } from '../../store/tables.ts'
import { readBudgets } from '../../supervisor/session/settings.ts'
import { calendarDayOf, startOfNextDay, withTaskBudget } from '../../tasks/budgets.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { realOrGiven } from './tasks.ts'

const BudgetQuery = z.strictObject({ project: z.string().min(1).optional() })
const BudgetReset = z.strictObject({ project: z.string().min(1) })

/** Budgets: what is spent and what is left; a project can be counted from zero again. */
export function budgetRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/budget', async request => {
    const { project } = parseRequest(BudgetQuery, request.query, 'GET /budget')
    return budgetView(project === undefined ? undefined : await realOrGiven(project), daemon)
  })

  app.post('/budget/reset', async request => {
    const { project } = parseRequest(BudgetReset, request.body ?? {}, 'POST /budget/reset')
    return resetBudget(await realOrGiven(project), daemon)
  })
}

/** Lets the budget of a project count from zero again. */
export async function resetBudget(project: string, daemon: DaemonContext): Promise<BudgetView> {
  const key = { scope: 'project', key: project } as const
  const [before] = await daemon.store.spending.of([key])
  if (!before) throw new AppError('budget_untouched', { project })
  await daemon.store.transaction(async tx => {
    await daemon.store.spending.forget(key, tx)
    const text = `A person let the budget of ${project} count from zero (pcc budget reset).`
    await tx.append([{ actor: 'human', subject: 'daemon', kind: 'session.noted', body: { text } }])
  })
  return budgetView(project, daemon)
}

/** What is spent and what is left, of a project or of all. */
export async function budgetView(project: string | undefined, daemon: DaemonContext): Promise<BudgetView> {
  const at = Date.now()
  const sessions = (await daemon.store.sessions.list({ project, only: 'open' })).filter(isOpen)
  const projects = project === undefined ? new Set(sessions.map(row => row.project)) : new Set([project])
  const rows: Record<BudgetScope, Omit<Wanted, 'scope'>[]> = { day: [], project: [], session: [], task: [] }
  rows.day.push({ key: calendarDayOf(at), name: 'today', budgets: await readProjectBudgets(daemon, project) })
  for (const path of projects)
    rows.project.push({ key: path, name: basename(path), budgets: await readProjectBudgets(daemon, path) })
  for (const row of sessions) {
    const of = row.id
    const budgets = daemon.supervisor.run(row.id)?.settings.budgets ?? (await readSessionBudgets(row, daemon))
    rows.session.push({ of, key: row.id, name: row.name, budgets })
    const task = row.task_id === null ? undefined : await daemon.store.tasks.get(row.task_id)
    const ofTask = task && (await withTaskBudget(budgets, row, daemon.store))
    if (ofTask) rows.task.push({ of, key: task.id, name: task.title, budgets: ofTask })
  }
  const wanted = inOrder(rows)
  const spent = await daemon.store.spending.of(wanted)
  const parts = await daemon.store.spending.parts(wanted)
  return { at, day_ends_at: startOfNextDay(at), scopes: wanted.map(scope => toBudgetRow(scope, spent, parts)) }
}

interface Wanted extends SpendingKey {
  name: string
  budgets: Budgets
  /** The session to whose rows it belongs. */
  of?: string
}

/** By scope, but the rows of one session stand together. */
function inOrder(rows: Record<BudgetScope, Omit<Wanted, 'scope'>[]>): Wanted[] {
  const scopes = Object.keys(rows) as BudgetScope[]
  const all = scopes.flatMap(scope => rows[scope].map(row => ({ ...row, scope })))
  return [...Map.groupBy(all, ({ of }) => of).values()].flat()
}

type Spent = Awaited<ReturnType<DaemonContext['store']['spending']['of']>>

function toBudgetRow({ scope, key, name, budgets }: Wanted, spent: Spent, parts: PurposeRow[]): BudgetRow {
  const row = spent.find(entry => entry.scope === scope && entry.key === key)
  const limits = budgets[scope]
  const isBound = Object.values(limits).some(limit => limit !== undefined)
  const spentHere = eachMeasure(measure => row?.[measure] ?? 0)
  const own = parts.filter(part => part.scope === scope && part.key === key)
  const others = Object.fromEntries(own.map(part => [part.purpose, { tokens: part.tokens, cost_usd: part.cost_usd }]))
  const by_purpose = spentByPurpose(spentHere, others)
  return { scope, key, name, spent: spentHere, by_purpose, limits, at_bound: isBound ? AT_BOUND[scope] : null }
}

const AT_BOUND: Record<BudgetScope, string> = {
  task: 'its session pauses after the tool in flight',
  session: 'it pauses after the tool in flight',
  day: 'every session pauses after its tool in flight and goes on tomorrow',
  project: 'its sessions pause after their tool in flight',
}

/** Whether a session can spend more without anybody starting something new. */
function isOpen({ state, ended_as }: SessionRow): boolean {
  return state !== 'ended' || (ended_as !== 'completed' && ended_as !== 'stopped')
}

function readProjectBudgets({ paths, agentEnv }: DaemonContext, project: string | undefined): Promise<Budgets> {
  return readBudgets(project === undefined ? {} : { project }, { paths, env: agentEnv })
}

function readSessionBudgets({ project, options }: SessionRow, { paths, agentEnv }: DaemonContext): Promise<Budgets> {
  return readBudgets({ project, options }, { paths, env: agentEnv })
}

/** Quota: how full the accounts are and which sessions wait for them; a person can hold and release accounts. */
export function quotaRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/quota', () => quotaView(daemon))

  app.post('/quota/hold', async request => {
    const { account } = parseRequest(HoldQuota, request.body ?? {}, 'POST /quota/hold')
    return holdQuota(account, 'human', daemon)
  })

  app.post('/accounts/try', async () => {
    await daemon.supervisor.tryMended()
    return { ok: true }
  })

  app.post('/quota/release', async request => {
    return releaseQuota(parseRequest(ReleaseQuota, request.body ?? {}, 'POST /quota/release'), daemon)
  })
}

/** Holds an account back, or all. */
export async function holdQuota(account: string | undefined, by: string, daemon: DaemonContext): Promise<QuotaView> {
  await daemon.gates.hold(await findAccount(account, daemon), by)
  await daemon.supervisor.gatesChanged()
  return quotaView(daemon)
}

/** Releases an account, or all. */
export async function releaseQuota(
  { account, now }: z.infer<typeof ReleaseQuota>,
  daemon: DaemonContext,
): Promise<QuotaView> {
  const accountId = await findAccount(account, daemon)
  await daemon.gates.release(accountId)
  const tried = now ? await daemon.supervisor.tryNow(accountId) : undefined
  await daemon.supervisor.gatesChanged()
  return { ...(await quotaView(daemon)), ...(tried && { tried }) }
}

/** How full the accounts are, and who waits for them. */
export async function quotaView(daemon: DaemonContext): Promise<QuotaView> {
  const [quotas, gates, sessions] = await Promise.all([
    daemon.quota.list(),
    daemon.gates.list(),
    daemon.store.sessions.list({ only: 'open' }),
  ])
  const waiting = sessions.filter(isWaiting)
  const every = gates.find(({ account }) => account === EVERY_ACCOUNT)
  return {
    at: Date.now(),
    accounts: quotas.map(quota => ({
      ...quota,
      gate: gates.find(({ account }) => account === quota.account) ?? null,
      waiting: waiting.filter(({ account }) => account === quota.account).map(row => waitingView(row, daemon)),
    })),
    hold: every?.held ? { by: every.held_by ?? 'human', at: every.held_at ?? 0 } : null,
  }
}

/** Whether a session will resume at some time, or would if a person let it. */
function isWaiting({ state, ended_as, resumes_at, held_at }: SessionRow): boolean {
  if (state === 'queued') return true
  if (state !== 'ended' || ended_as === 'completed' || ended_as === 'stopped') return false
  return resumes_at !== null || held_at !== null || ended_as === 'rate_limited'
}

function waitingView(row: SessionRow, { bootId }: DaemonContext): WaitingSession {
  const { id, name, resumes_at } = row
  return { id, name, status: statusOf(row, bootId).status, resumes_at, held: row.held_at !== null }
}

/** The one account that a person names, or all of them. */
async function findAccount(ref: string | undefined, daemon: DaemonContext): Promise<string> {
  if (ref === undefined || ref === EVERY_ACCOUNT) return EVERY_ACCOUNT
  const accounts = matchAccounts(ref, await daemon.quota.list())
  const [only, ...others] = accounts
  if (!only) throw new AppError('account_unknown', { ref })
  if (others.length === 0) return only.account
  const matches = accounts.map(({ account, label }) => `${account} (${label})`).join(', ')
  throw new AppError('account_ambiguous', { ref, matches })
}
