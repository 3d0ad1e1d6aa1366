import { COMMAND_KINDS, type ProjectCommand } from '../../domain/project/project-facts.ts'
import type { FoundCommand } from './found.ts'

interface Candidates {
  commands: FoundCommand[]
  isRunner: boolean
}

/**
 * The commands of one folder. What the project names itself counts before what is usual; a Makefile or its like stands for
 * all ecosystems of the folder where there are several, and for one that only has what is usual.
 */
export function chooseCommands(directory: string, units: readonly Candidates[]): ProjectCommand[] {
  const ecosystems = units.filter(({ isRunner }) => !isRunner)
  const runner = units.find(({ isRunner }) => isRunner)
  return COMMAND_KINDS.flatMap(kind => {
    const own = ecosystems.flatMap(({ commands }) => commands.find(each => each.kind === kind) ?? [])
    const all = runner?.commands.find(each => each.kind === kind)
    const isBetter = all && (own.length !== 1 || own[0]?.declared === false)
    const chosen = all && isBetter && kind !== 'setup' ? [all] : own.length > 0 ? own : all ? [all] : []
    return chosen.map(command => ({ ...command, directory }))
  })
}
