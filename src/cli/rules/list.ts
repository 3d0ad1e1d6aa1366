import type { WrittenRule } from '../../policy/rules/rules-file.ts'
import { shownRule } from '../../policy/verdict/rules.ts'
import { type Context, ExitCode } from '../context.ts'
import { projectPolicy } from '../explain/project-policy.ts'
import { shownPath } from '../render/format.ts'
import { neutral } from '../render/text.ts'

/**
 * Prints the rules in force in this directory, each with its number and place, and what waits for trust. A wrong file is
 * told with what is left in force, and by the exit code.
 */
export async function listRules({ places, env, json, out, terminal }: Context): Promise<void> {
  const policy = await projectPolicy({ places, env, project: process.cwd() })
  const { written, waiting, problem } = policy.rules
  const row = (in_force: boolean) => (each: WrittenRule) => {
    const { rule, file, line, number } = each
    return { number, scope: file === policy.userFile ? 'user' : 'project', ...rule, file, line, in_force }
  }
  const rows = [...written.map(row(true)), ...waiting.map(row(false))]
  if (json) {
    out(
      JSON.stringify(
        { rules: rows, problem: problem ? { code: problem.code, message: problem.message } : null },
        null,
        2,
      ),
    )
    if (problem) throw new ExitCode(problem.exit)
    return
  }
  if (problem) out(`${terminal.paint('red', 'wrong:')} ${neutral(problem.message)}. ${problem.next}`)
  const home = env['HOME']
  for (const scope of ['user', 'project'] as const) {
    const own = rows.filter(each => each.scope === scope).sort((one, other) => one.number - other.number)
    if (own.length === 0) continue
    const [first] = own
    out(
      terminal.paint(
        'bold',
        `${scope === 'user' ? 'Yours' : "The project's"}: ${shownPath(first?.file ?? '', process.cwd(), home)}`,
      ),
    )
    for (const { number, in_force, ...rule } of own) {
      const mark = in_force ? '' : terminal.paint('yellow', '  (waits for pcc trust)')
      out(`${String(number).padStart(4)}  ${neutral(shownRule(rule))}${mark}`)
    }
  }
  if (problem) throw new ExitCode(problem.exit)
  if (rows.length === 0) out("No rules. Add one with: pcc rules add allow Bash 'npm run *'")
}
