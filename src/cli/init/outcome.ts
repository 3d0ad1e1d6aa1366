import { shellWord } from '../../base/shell-word.ts'
import type { ProjectFacts } from '../../domain/project/project-facts.ts'
import type { TaskMention } from '../../domain/tasks/requests.ts'
import type { Step } from './files/step.ts'

/** What `pcc init` found and did. */
export interface Outcome {
  /** Real path. */
  project: string
  /** As it was typed, for the next command. */
  given: string
  dryRun: boolean
  facts: ProjectFacts
  steps: Step[]
  remarks: string[]
}

/** What became of a file of requirements. */
export interface TakenTasks {
  file: string
  /** How many it has that are open. */
  count: number
  added: TaskMention[]
  /** Those that were there already. */
  known: number
  /** The task that holds what the file says besides them. */
  above: Pick<TaskMention, 'id' | 'title'> | null
}

/** The shape of `--json`. */
export function jsonOf(
  { project, given, dryRun, facts, steps, remarks }: Outcome,
  tasks: TakenTasks | undefined,
): object {
  return {
    project,
    dry_run: dryRun,
    facts: { ...facts, git: facts.git ?? null },
    files: steps.map(({ path, does, why }) => ({ path, outcome: OUTCOMES[does], ...(why !== undefined && { why }) })),
    tasks: tasks ?? null,
    remarks,
    next: nextCommands(given, tasks),
  }
}

export const OUTCOMES = { create: 'created', change: 'changed', keep: 'kept', leave: 'left' } as const

/** What a person most likely wants to type now. */
export function nextCommands(given: string, tasks: TakenTasks | undefined): string[] {
  // A bare word could be the name of a feature.
  const path = given === '.' || given.includes('/') ? given : `./${given}`
  const start = `pcc start ${shellWord(path)} --task "Your task here"`
  return tasks ? [`pcc run ${shellWord(path)} --dry-run`, `pcc run ${shellWord(path)}`] : [start]
}
