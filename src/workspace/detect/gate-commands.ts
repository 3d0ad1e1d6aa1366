import { shellWord } from '../../base/shell-word.ts'
import type { ProjectCommand } from '../../domain/project/project-facts.ts'

/** A command that a gate could be. */
export interface GateProposal {
  gate: 'build' | 'typecheck' | 'lint' | 'test'
  run: string
  /** What it was concluded from. */
  from: string
  /** Why it is not proposed without a look: it watches, it changes files. */
  caution?: string
}

/** What the commands that were found come to as gates: those of several folders one after the other. */
export function gateCommandsFrom(commands: readonly ProjectCommand[]): GateProposal[] {
  return (['build', 'typecheck', 'lint', 'test'] as const).flatMap(gate => {
    // A folder with a strange name is nobody's to put into a command unseen.
    const mine = commands.filter(({ kind, directory }) => kind === gate && shellWord(directory) === directory)
    if (mine.length === 0) return []
    const caution = mine.find(each => each.caution !== undefined)?.caution
    const run = mine.map(({ run, directory }) => (directory === '.' ? run : `(cd ${directory} && ${run})`))
    return [
      {
        gate,
        run: run.join(' && '),
        from: mine.map(({ from }) => from).join(', '),
        ...(caution !== undefined && { caution }),
      },
    ]
  })
}
