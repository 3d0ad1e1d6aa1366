import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { addRule, removeRule } from '../../policy/rules/edit.ts'
import { findProjectRules, projectRulesFile, userRulesFile } from '../../policy/rules/places.ts'
import type { WrittenRule } from '../../policy/rules/rules-file.ts'
import { patternOf } from '../../policy/verdict/pattern.ts'
import { type PolicyRule, shownRule } from '../../policy/verdict/rules.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import type { Context } from '../context.ts'
import { neutral } from '../render/text.ts'

interface Where {
  project?: boolean
}

/** `pcc rules add` */
export async function addOne(context: Context, rule: PolicyRule, where: Where): Promise<void> {
  refuseInSession(context.env, `rules add ${rule.effect} …`)
  refuseUseless(rule)
  const added = addRule(await edited(context, where), rule)
  say(context, 'Added', added)
  if (where.project && rule.effect === 'allow') context.note('It counts here after: pcc trust .')
  if (rule.tool === 'Bash' && rule.match !== undefined && !patternOf(rule.match))
    context.note('It is no single command or pipe, so it counts for exactly this text and nothing like it.')
  else if (rule.effect === 'allow' && /[*]/.test(rule.match ?? '*'))
    context.note('HIGH risk is let through only by a rule for exactly that request, without a *.')
}

/** `pcc rules remove` */
export async function removeOne(context: Context, number: number, where: Where): Promise<void> {
  refuseInSession(context.env, `rules remove ${number}`)
  say(context, 'Removed', removeRule(await edited(context, where), number))
}

async function edited({ places }: Context, { project }: Where) {
  const here = process.cwd()
  const file = project ? ((await findProjectRules(places, here)) ?? projectRulesFile(here)) : userRulesFile(places)
  if (project && file === userRulesFile(places))
    throw new AppError('usage', { problem: 'here your own rules are kept; leave --project out', command: 'rules' })
  return { file, lockFile: join(places.home, 'rules.lock') }
}

/** Such a rule would be written and never match: it is told at once. */
function refuseUseless({ effect, tool, match }: PolicyRule): void {
  if (effect !== 'allow' || tool !== 'Bash' || match === undefined) return
  const stages = patternOf(match)?.stages.length ?? 1
  if (stages > 1 && match.includes('*'))
    throw new AppError('usage', {
      problem: 'an allow rule with * is for one command; each command of a pipe needs its own',
      command: 'rules add',
    })
}

function say({ json, out }: Context, did: string, { rule, file, line, number }: WrittenRule): void {
  out(json ? JSON.stringify({ number, ...rule, file, line }) : neutral(`${did}: ${shownRule(rule)}  (${file}:${line})`))
}
