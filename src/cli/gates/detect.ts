import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { replaceFile } from '../../base/files/replace-file.ts'
import { shellWord } from '../../base/shell-word.ts'
import { setInToml } from '../../base/toml/edit.ts'
import { checkConfigText, readConfigFile } from '../../domain/config/file-layer.ts'
import { findProjectFile } from '../../domain/config/project-layer.ts'
import { detectProject } from '../../workspace/detect/detect-project.ts'
import { type GateProposal, gateCommandsFrom } from '../../workspace/detect/gate-commands.ts'
import { readerOf } from '../../workspace/detect/reader.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import type { Context } from '../context.ts'
import { projectPath } from '../init/project-path.ts'
import { neutral, pad } from '../render/text.ts'

export interface DetectGates {
  path: string
  write: boolean
  context: Context
}

/** What becomes of a command that was found. */
type Outcome = 'written' | 'proposed' | 'set already' | 'left out'

/** Finds the commands that could be gates, and writes those that are not set yet where that is asked for. */
export async function detectGates({ path, write, context }: DetectGates): Promise<void> {
  if (write) refuseInSession(context.env, 'gates detect --write')
  const project = projectPath(path, { env: context.env, force: true })
  const facts = await detectProject(readerOf(project), project)
  const home = context.env['HOME'] ?? '/'
  const file = (await findProjectFile(project, home)) ?? join(project, '.perpetualcc.toml')
  const held = (await readConfigFile(file, home))?.values ?? {}
  const rows = gateCommandsFrom(facts.commands).map(proposal => {
    const before = held[`gates.${proposal.gate}`]
    return { ...proposal, outcome: outcomeOf(proposal, before, write), ...(before !== undefined && { before }) }
  })
  const news = rows.filter(({ outcome }) => outcome === 'written')
  if (news.length > 0) add(file, news, home)
  if (context.json) return context.out(JSON.stringify({ project, file, gates: rows }, null, 2))
  for (const line of page(rows, context)) context.out(line)
  if (rows.length === 0)
    return context.out(
      'No command that builds or checks this project was found. Set one with [gates] in .perpetualcc.toml',
    )
  const where = path === '.' ? '' : ` ${shellWord(path)}`
  if (news.length > 0)
    return context.out(`Written to ${neutral(file)}. Look at them, then agree to them with: pcc trust${where}`)
  if (write) return context.out(`Nothing to write: ${nothingWords(rows)}. ${neutral(file)} was left as it is.`)
  if (rows.some(({ outcome }) => outcome === 'proposed'))
    context.out(`Write them with: pcc gates detect${where} --write`)
}

function nothingWords(rows: readonly { outcome: Outcome }[]): string {
  const leftOut = rows.filter(({ outcome }) => outcome === 'left out').length
  if (leftOut === 0) return 'all of them are set already'
  const which =
    leftOut === rows.length
      ? 'all of them are'
      : `the rest is set already, and ${leftOut} ${leftOut === 1 ? 'is' : 'are'}`
  return `${which} left out for the reason beside them`
}

function outcomeOf({ caution }: GateProposal, before: unknown, write: boolean): Outcome {
  if (before !== undefined) return 'set already'
  if (caution !== undefined) return 'left out'
  return write ? 'written' : 'proposed'
}

/** Adds them to a project's file and nothing else in it; the whole is read back before it takes the file's place. */
function add(file: string, rows: readonly GateProposal[], home: string): void {
  let text = existsSync(file) ? readFileSync(file, 'utf8') : 'version = 1\n'
  for (const { gate, run } of rows) {
    const after = setInToml(text, ['gates', gate], run)
    if (after === undefined) throw new AppError('config_not_edited', { file, key: `gates.${gate}` })
    text = after
  }
  checkConfigText({ path: file, content: text, home })
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0o644
  replaceFile(file, text, mode & 0o777)
}

function page(
  rows: readonly (GateProposal & { outcome: Outcome; before?: unknown })[],
  { terminal }: Context,
): string[] {
  return rows.flatMap(({ gate, run, from, caution, outcome, before }) => [
    `  ${pad(gate, 10)} ${neutral(run)}  ${terminal.paint('dim', neutral(`${outcome}; ${from}`))}`,
    ...(caution === undefined ? [] : [`             ${terminal.paint('yellow', `careful: ${caution}`)}`]),
    ...(before === undefined || before === run
      ? []
      : [`             ${terminal.paint('dim', neutral(`now: ${before}`))}`]),
  ])
}
