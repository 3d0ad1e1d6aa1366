import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import type { HookEvent } from '../../domain/hooks.ts'
import { observedId } from '../hooks/capture.ts'
import { HookOutbox } from '../hooks/outbox.ts'
import { findLessons, readCaptured } from './command-lessons.ts'
import { recordsOfLesson } from './make-records.ts'
import { HOOK_PHASES } from './phases.ts'
import { recalledText } from './recall.ts'

/** What hooks do with memory. A daemon has its own; without one a hook does it by itself. */
export interface HookMemory {
  /** What is known about a prompt, or of the project where a conversation begins. */
  recall(event: HookEvent, project: string, role: string | null): Promise<string | undefined>
  /** A slice of the work that keeps memory in order. */
  tidy(event: HookEvent, project: string, settings: { retentionDays: number }): Promise<void>
}

/** A person waits. Loading and asking git may take so long; the search itself takes some ten milliseconds more. */
const RECALL_MS = 80

/** Memory for a hook without a daemon: opened on use, for one event, once a person or a daemon has noted where it is. */
export function openHookMemory(paths: AppPaths, recallMs = RECALL_MS): HookMemory {
  const load = async () => {
    const [outbox, project] = await Promise.all([import('../../memory/outbox.ts'), import('./project-memory.ts')])
    return { ...outbox, ...project, memory: outbox.folderOfHooks(paths) }
  }
  return {
    async recall(event, project, role) {
      const until = performance.now() + recallMs
      const { memory: folder, openProjectMemory } = await load()
      if (folder === undefined || !existsSync(join(folder, 'memory.db'))) return undefined // nothing was derived yet
      using memory = openProjectMemory({ memory: folder }, Date.now, { onlyReads: true })
      await memory.keysOf(project)
      // What follows is done at a stretch, and nobody could end it: rather nothing than late.
      if (performance.now() >= until) return undefined
      const text = event.kind === 'prompt' ? event.text : ''
      const items = await memory.recall({ project, text, agent: event.vendor, role, session: observedId(event) })
      return items.length === 0 ? undefined : recalledText(items)
    },
    async tidy(event, project, { retentionDays }) {
      const { memory: folder, openProjectMemory, findKeys, postRecords } = await load()
      if (folder === undefined) return
      const [key] = await findKeys(project, { in: folder })
      const records = await learnFromOutbox(event, key, paths)
      try {
        using memory = openProjectMemory({ memory: folder })
        memory.write(records)
        await memory.tidy({ improves: HOOK_PHASES[event.kind].includes('improve'), retentionDays })
      } catch (error) {
        // Another process writes: whoever is next stores what was learned, each record once.
        if (!(error instanceof AppError && error.code === 'memory_unwritable')) throw error
        postRecords(folder, records)
      }
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
  const role = rows.at(-1)?.body.role ?? null
  const who = { session, task: null, agent: event.vendor, role, actor: 'hook' } as const
  const about = { project, folder: project, ...who }
  return findLessons(steps, { isNew: () => true, known: [] }).flatMap(lesson => recordsOfLesson(lesson, about))
}
