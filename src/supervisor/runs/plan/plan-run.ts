import type { PastAttempt } from '../../../domain/runs/past-attempt.ts'
import type { RunPlan } from '../../../domain/runs/run-view.ts'
import type { Task } from '../../../domain/task.ts'
import type { RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'
import { chooseModel } from '../../models/choose-model.ts'
import type { Ground } from '../../place/ground.ts'
import type { RunSettings } from '../run-settings.ts'
import { scopeOf } from '../scope.ts'
import { plannedOrder } from './planned-order.ts'

/** What a run would work through if every task went well, with the model of each. Starts nothing, claims nothing. */
export async function planRun(
  run: Pick<RunRow, 'project' | 'target' | 'options'>,
  settings: RunSettings,
  { store, ground }: { store: Store; ground: Pick<Ground, 'look'> },
): Promise<RunPlan> {
  const { project, feature, task } = scopeOf(run)
  const filter = { project, feature, under: task }
  const tasks = await store.tasks.list(filter)
  const edges = await store.tasks.edges(filter)
  const known = new Set(tasks.map(({ id }) => id))
  const beyond = [...new Set(edges.map(({ blocker_id }) => blocker_id))].filter(id => !known.has(id))
  const others = await Promise.all(beyond.map(id => store.tasks.get(id)))
  const { order, heldUp } = plannedOrder({ tasks, edges, others: others.filter(each => each !== undefined) })
  const steps = order.slice(0, settings.limit)
  const pasts: PastAttempt[] = []
  const planned = []
  const place = await ground.look({ project, task: '' }, run.options)
  for (const each of steps) {
    const before = pasts.length > 0 ? pasts : await store.runs.attempts({ task: each.id })
    const { model, why } = modelFor(each, before, settings)
    pasts.push(wentWell(each, model))
    planned.push({ id: each.id, title: each.title, model: model ?? null, why })
  }
  return {
    ...{ project, target: run.target, steps: planned, held_up: heldUp, beyond_limit: order.length - steps.length },
    parallel: settings.parallel,
    in_place: 'why' in place ? place.why : null,
  }
}

function modelFor({ id, model: hint }: Task, before: readonly PastAttempt[], settings: RunSettings) {
  const { strategy, names, model } = settings
  return chooseModel(strategy, before, { names, task: id, hint, model })
}

function wentWell({ id, attempt }: Task, model: string | undefined): PastAttempt {
  const nothing = { reason: null, result: null, next_model: null }
  return { task_id: id, number: attempt + 1, model: model ?? null, outcome: 'done', ...nothing }
}
