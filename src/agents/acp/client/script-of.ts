import { shellWord } from '../../../base/shell-word.ts'
import { refused } from './refusals.ts'

interface Wanted {
  command: string
  args: string[]
  env: { name: string; value: string }[]
}

/** Variables that make a program run something else than the command that was judged. */
const HIJACKING =
  /^(BASH_ENV|ENV|PROMPT_COMMAND|LD_\w+|DYLD_\w+|NODE_OPTIONS|PERL5OPT|RUBYOPT|PYTHONSTARTUP|PATH|SHELL|PCC_\w+)$/

/**
 * The script of a command, its variables set in it: what is judged is letter by letter what bash then runs. With arguments it is one
 * program; without any, agents give a whole line, and its variables hold for all of it.
 */
export function scriptOf({ command, args, env }: Wanted): string {
  for (const { name } of env) {
    // Another would be read as something else than a name: `true #` takes all that follows out of what is judged.
    if (!/^[A-Za-z_]\w*$/.test(name)) throw refused(`Not allowed: ${JSON.stringify(name)} is no name of a variable.`)
    if (HIJACKING.test(name)) throw refused(`Not allowed: ${name} could make it run something else.`)
  }
  const set = env.map(({ name, value }) => `${name}=${shellWord(value)}`).join(' ')
  if (args.length > 0) return [...(set ? [set] : []), ...[command, ...args].map(shellWord)].join(' ')
  return set ? `export ${set}\n${command}` : command
}
