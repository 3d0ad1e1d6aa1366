import type { Task, TaskView } from '../domain/task.ts'
import type { Tx } from '../store/store.ts'
import { comeAfter } from './blockers.ts'
import { claimNext } from './claim.ts'
import type { TasksParts } from './parts.ts'
import { queueOf, viewsOf } from './queue.ts'
import { resolveTask } from './resolve-task.ts'
import { type NewTaskRequest, submit } from './submit.ts'
import { type Move, transition } from './transition.ts'

/** What is to be done. Everything that writes is part of a transaction: a task's state, its event and its session's row belong together. */
export interface Tasks {
  /** A new task: `ready`, or `blocked` by what it comes after. */
  submit(request: NewTaskRequest, tx: Tx): Promise<Task>
  /**
   * The task that a session works on from now on: the one it was in the middle of, else the one its row names, else the
   * ready one with the highest priority, else the oldest. Nothing while it is at one already, or when none can run.
   */
  claimNext(session: string, tx: Tx): Promise<Task | undefined>
  /** The one writer of a task's state. Throws `task_move_refused`, or `task_moved` where somebody else was first. */
  transition(id: string, move: Move, tx: Tx): Promise<Task>
  /** From now on a task that has not begun comes after another one too. Throws `task_cycle`. */
  comeAfter(id: string, blocker: string, tx: Tx): Promise<Task>
  /** By id, or by the beginning of an id or title that fits only one task of the session. */
  resolve(ref: string, session: string, tx?: Tx): Promise<Task>
  /** What is open in a session, in the order in which it will run; the one at work first. */
  queue(session: string, tx?: Tx): Promise<TaskView[]>
  /** Every task of a session, oldest first. */
  list(session: string): Promise<TaskView[]>
}

/** Opens the tasks over a store: it keeps nothing of its own. */
export function openTasks(parts: TasksParts): Tasks {
  const { store } = parts
  return {
    submit: (request, tx) => submit(request, { ...parts, tx }),
    claimNext: (session, tx) => claimNext(session, { ...parts, tx }),
    transition: (id, move, tx) => transition(id, move, { ...parts, tx }),
    comeAfter: (id, blocker, tx) => comeAfter(id, blocker, { ...parts, tx }),
    resolve: (ref, session, tx) => resolveTask({ ref, session }, store, tx),
    queue: (session, tx) => queueOf(session, store, tx),
    list: async session => viewsOf(await store.tasks.list({ session }), store),
  }
}
