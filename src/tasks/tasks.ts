import type { Task, TaskScope, TaskState, TaskView } from '../domain/task.ts'
import type { TaskDetail, UpdateTask } from '../domain/task-requests.ts'
import type { Tx } from '../store/store.ts'
import type { TaskFilter } from '../store/task-stores.ts'
import { type ClaimRequest, claimNext, claimReady, releaseClaim, releaseClaims } from './claim.ts'
import { findTask, resolveTask } from './find-task.ts'
import { addTaskDependency, removeTask, removeTaskDependency } from './graph.ts'
import { type NewTaskRequest, submitTask } from './submit.ts'
import { type Move, type TasksDeps, transition } from './transition.ts'
import { type ForcedState, forceTask, updateTask } from './update.ts'
import { readTaskDetail, readTaskQueue, readTaskView, readTaskViews } from './view.ts'

/** The tasks. Every write is part of a transaction: a task's state, its event and its session's row belong together. */
export interface Tasks {
  /** Adds a task: `ready`, or `blocked` by the tasks that it comes after. */
  submit(request: NewTaskRequest, tx: Tx): Promise<Task>
  /**
   * Claims the task that a session works on from now on: the interrupted one, else the one that its row names, else the ready one
   * with the highest priority, else the oldest. Undefined while it already works on one, or when none can run.
   */
  claimNext(session: string, tx: Tx): Promise<Task | undefined>
  /**
   * Claims the next task of a scope for a run: ready, in no session's own queue, highest priority, then oldest. Of two claimers
   * only one gets it.
   */
  claimReady(request: ClaimRequest, tx: Tx): Promise<Task | undefined>
  /** Gives back a task. Throws `task_moved` if the attempt is not the last one. */
  release(id: string, options: { attempt: number; reason?: string }, tx: Tx): Promise<Task>
  /** Gives back what a run, or its owner, holds: they no longer exist. */
  releaseAll(by: { run?: string; owner?: string }, reason: string, tx: Tx): Promise<Task[]>
  /** The only writer of a task's state. Throws `task_move_refused`, or `task_moved` where somebody else was first. */
  transition(id: string, move: Move, tx: Tx): Promise<Task>
  /** Sets the state that a person orders, whatever the current state is. */
  force(task: Task, forced: ForcedState, tx: Tx): Promise<Task>
  update(task: Task, changes: UpdateTask & { only?: boolean | undefined }, tx: Tx): Promise<Task>
  /** Removes a task; with `cascade` also everything that depends on it. Throws `task_needed`. */
  remove(task: Task, options: { cascade: boolean }, tx: Tx): Promise<Task[]>
  /** Makes a task that has not begun come after another one. Throws `task_cycle`. */
  addDependency(id: string, blocker: string, tx: Tx): Promise<Task>
  /** Undoes `addDependency`. Throws `task_not_after`. */
  removeDependency(id: string, blocker: string, tx: Tx): Promise<Task>
  /** Finds a task by its id, or by the beginning of an id or title that matches only one task of the session. */
  resolve(ref: string, session: string, tx?: Tx): Promise<Task>
  /** Finds a task of any session, as `findTask` does. Throws `task_not_there`, `task_ambiguous`. */
  find(ref: string, tx?: Tx, project?: string, only?: boolean): Promise<Task>
  /** How many tasks of a scope are in each state. */
  counts(scope: TaskScope, tx?: Tx): Promise<Partial<Record<TaskState, number>>>
  /** The open tasks of a session, in the order in which they will run; the one at work first. */
  queue(session: string, tx?: Tx): Promise<TaskView[]>
  /** The tasks that match, oldest first. */
  list(filter: TaskFilter): Promise<TaskView[]>
  /** The tasks that match as JSON: a view on each line, with commas between them. */
  listAsJson(filter: TaskFilter): Promise<Uint8Array>
  view(task: Task, tx?: Tx): Promise<TaskView>
  /** A task with its parent, blockers, dependents and parts. */
  detail(task: Task, tx?: Tx): Promise<TaskDetail>
}

/** Opens the tasks of a store, without state of its own. */
export function openTasks(deps: TasksDeps): Tasks {
  const { store } = deps
  return {
    submit: (request, tx) => submitTask(request, { ...deps, tx }),
    claimNext: (session, tx) => claimNext(session, { ...deps, tx }),
    claimReady: (request, tx) => claimReady(request, { ...deps, tx }),
    release: (id, options, tx) => releaseClaim(id, options, { ...deps, tx }),
    releaseAll: (by, reason, tx) => releaseClaims(by, reason, { ...deps, tx }),
    transition: (id, move, tx) => transition(id, move, { ...deps, tx }),
    force: (task, forced, tx) => forceTask(task, forced, { ...deps, tx }),
    update: (task, changes, tx) => updateTask(task, changes, { ...deps, tx }),
    remove: (task, options, tx) => removeTask(task, options, { ...deps, tx }),
    addDependency: (id, blocker, tx) => addTaskDependency(id, blocker, { ...deps, tx }),
    removeDependency: (id, blocker, tx) => removeTaskDependency(id, blocker, { ...deps, tx }),
    resolve: (ref, session, tx) => resolveTask({ ref, session }, store, tx),
    find: (ref, tx, project, only) => findTask(ref, store, { project, only, tx }),
    counts: (scope, tx) => store.tasks.counts(scope, tx),
    queue: (session, tx) => readTaskQueue(session, store, tx),
    list: filter => readTaskViews(filter, store),
    listAsJson: filter => store.tasks.listAsJson(filter),
    view: ({ id }, tx) => readTaskView(id, store, tx),
    detail: ({ id }, tx) => readTaskDetail(id, store, tx),
  }
}
