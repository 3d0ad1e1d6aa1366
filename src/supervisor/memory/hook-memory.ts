import type { AppPaths } from '../../base/app-paths.ts'
import type { HookEvent } from '../../domain/hooks.ts'
import type { BrokerOptions } from '../../memory/broker.ts'
import { observedId } from '../hooks/capture.ts'
import { HookOutbox } from '../hooks/outbox.ts'
import { findLessons, readCaptured } from './command-lessons.ts'
import { recordsOfLesson } from './make-records.ts'
import { HOOK_PHASES } from './phases.ts'
import { recalledText } from './recall.ts'

/** What hooks do with memory. A daemon has its own; without one a hook does it by itself. */
export interface HookMemory {
  /** What is known about a prompt, or of the project where a conversation begins. */
  recall(event: HookEvent, project: string): Promise<string | undefined>
  /** A slice of the work that keeps memory in order. */
  tidy(event: HookEvent, project: string, settings: { retentionDays: number }): Promise<void>
}

/** A person waits. Loading and asking git may take so long; the search itself takes some ten milliseconds more. */
const RECALL_MS = 80

/** Memory for a hook without a daemon: opened on use, for one event, once a person or a daemon has noted where it is. */
export function openHookMemory(paths: AppPaths, recallMs = RECALL_MS): HookMemory {
  const open = async (options: Pick<BrokerOptions, 'onlyReads'> = {}) => {
    const [{ folderOfHooks }, { openProjectMemory }] = await Promise.all([
      import('../../memory/outbox.ts'),
      import('./project-memory.ts'),
    ])
    const memory = folderOfHooks(paths)
    return memory === undefined ? undefined : openProjectMemory({ memory }, Date.now, options)
  }
  return {
    async recall(event, project) {
      const until = performance.now() + recallMs
      using memory = await open({ onlyReads: true }).catch(() => undefined) // nothing was derived yet
      if (!memory) return undefined
      await memory.keysOf(project)
      // What follows is done at a stretch, and nobody could end it: rather nothing than late.
      if (performance.now() >= until) return undefined
      const text = event.kind === 'prompt' ? event.text : ''
      const items = await memory.recall({ project, text, agent: event.vendor })
      return items.length === 0 ? undefined : recalledText(items)
    },
    async tidy(event, project, { retentionDays }) {
      using memory = await open()
      if (!memory) return
      const [key] = await memory.keysOf(project)
      memory.write(await learnFromOutbox(event, key, paths))
      await memory.tidy({ improves: HOOK_PHASES[event.kind].includes('improve'), retentionDays })
    },
  }
}

/**
 * What the commands of a conversation teach, from what its hooks have reported and no daemon has stored yet. The records have the ids that the
 * daemon gives them later, so that nothing is learned twice.
 */
async function learnFromOutbox(event: HookEvent, project: string, paths: AppPaths) {
  const session = observedId(event)
  const rows = await new HookOutbox(paths).latestOf(session)
  const steps = rows.flatMap(row => readCaptured(row))
  const who = { session, task: null, agent: event.vendor, role: null, actor: 'hook' } as const
  const about = { project, folder: project, ...who }
  return findLessons(steps, { isNew: () => true, known: [] }).flatMap(lesson => recordsOfLesson(lesson, about))
}
