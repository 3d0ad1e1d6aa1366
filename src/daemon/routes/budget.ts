import { realpath } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import {
  type BudgetRow,
  type BudgetScope,
  type Budgets,
  type BudgetView,
  NOTHING_SPENT,
} from '../../domain/budget/budget.ts'
import type { SpendingKey } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { budgetsOf } from '../../supervisor/settings/budgets-of.ts'
import { dayOf, nextDay } from '../../tasks/budgets/day.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'

const Query = z.strictObject({ project: z.string().min(1).optional() })
const Reset = z.strictObject({ project: z.string().min(1) })

/** What is spent, what is left, and counting a project from zero again. */
export function budgetRoutes(app: FastifyInstance, world: World): void {
  app.get('/budget', async request => {
    const { project } = checked(Query, request.query, 'GET /budget')
    return budgetView(project === undefined ? undefined : await real(project), world)
  })

  app.post('/budget/reset', async request => {
    const project = await real(checked(Reset, request.body ?? {}, 'POST /budget/reset').project)
    const key = { scope: 'project', key: project } as const
    const [before] = await world.store.spending.of([key])
    if (!before) throw new AppError('budget_untouched', { project })
    await world.store.transaction(async tx => {
      await world.store.spending.forget(key, tx)
      const text = `A person let the budget of ${project} count from zero (pcc budget reset).`
      await tx.append([{ actor: 'human', subject: 'daemon', kind: 'session.noted', body: { text } }])
    })
    return budgetView(project, world)
  })
}

async function budgetView(project: string | undefined, world: World): Promise<BudgetView> {
  const at = Date.now()
  const sessions = (await world.store.sessions.list({ project })).filter(isOpen)
  const projects = project === undefined ? new Set(sessions.map(row => row.project)) : new Set([project])
  const wanted: Wanted[] = [{ scope: 'day', key: dayOf(at), name: 'today', budgets: await own(world, project) }]
  for (const each of projects) {
    wanted.push({ scope: 'project', key: each, name: basename(each), budgets: await own(world, each) })
  }
  for (const row of sessions) {
    const budgets = world.supervisor.run(row.id)?.budgets ?? (await sessionBudgets(row, world))
    wanted.push({ scope: 'session', key: row.id, name: row.name, budgets })
    const task = row.task_id === null ? undefined : await world.store.tasks.get(row.task_id)
    if (task) wanted.push({ scope: 'task', key: task.id, name: task.title, budgets })
  }
  const spent = await world.store.spending.of(wanted)
  return { at, day_ends_at: nextDay(at), scopes: wanted.map(each => rowOf(each, spent)) }
}

interface Wanted extends SpendingKey {
  name: string
  budgets: Budgets
}

type Spent = Awaited<ReturnType<World['store']['spending']['of']>>

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

function own({ places, agentEnv }: World, project: string | undefined): Promise<Budgets> {
  return budgetsOf(project === undefined ? {} : { project }, { places, env: agentEnv })
}

function sessionBudgets({ project, options }: SessionRow, { places, agentEnv }: World): Promise<Budgets> {
  return budgetsOf({ project, options }, { places, env: agentEnv })
}

/** Projects are stored by their real path; one that is gone is looked up as it is spelled. */
function real(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}
