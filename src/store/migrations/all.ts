import { worktrees } from './0018-worktrees.ts'
import { evidence } from './0019-evidence.ts'
import { merges } from './0020-merges.ts'
import { runIntegration } from './0021-run-integration.ts'
import { taskIndexes } from './0022-task-indexes.ts'
import { taskList } from './0023-task-list.ts'
import { eventsAndSessions } from './first-nine/0001-events-and-sessions.ts'
import { escalationsAndAnswers } from './first-nine/0002-escalations-and-answers.ts'
import { openDecisions } from './first-nine/0003-open-decisions.ts'
import { sessionWaits } from './first-nine/0004-session-waits.ts'
import { gates } from './first-nine/0005-gates.ts'
import { quota } from './first-nine/0006-quota.ts'
import { tasks } from './first-nine/0007-tasks.ts'
import { rememberedAndShared } from './first-nine/0008-remembered-and-shared.ts'
import { outbox } from './first-nine/0009-outbox.ts'
import type { Migration } from './migration.ts'
import { recovery } from './next-eight/0010-recovery.ts'
import { budgets } from './next-eight/0011-budgets.ts'
import { prunableEvents } from './next-eight/0012-prunable-events.ts'
import { runs } from './next-eight/0013-runs.ts'
import { taskModel } from './next-eight/0014-task-model.ts'
import { journal } from './next-eight/0015-journal.ts'
import { features } from './next-eight/0016-features.ts'
import { schedules } from './next-eight/0017-schedules.ts'

/** In order: the first is number 1. New ones go to the end. */
export const MIGRATIONS: readonly Migration[] = [
  eventsAndSessions,
  escalationsAndAnswers,
  openDecisions,
  sessionWaits,
  gates,
  quota,
  tasks,
  rememberedAndShared,
  outbox,
  recovery,
  budgets,
  prunableEvents,
  runs,
  taskModel,
  journal,
  features,
  schedules,
  worktrees,
  evidence,
  merges,
  runIntegration,
  taskIndexes,
  taskList,
]
