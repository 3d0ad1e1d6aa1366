import type { ChangedFile } from '../../change/change.ts'
import { isCi, isScriptFile, nameOf } from '../../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule } from '../../rules/rule.ts'
import { CHECK_NAME, CHECKS, silencerIn } from './commands.ts'
import { compareCommand } from './compare-command.ts'
import { namedCommands } from './named-commands.ts'

/** Commands by which people and machines check the work: in package.json, Makefiles, shell scripts, CI. */
export const scriptRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    const named = namedFindings(file)
    const isCommands =
      isScriptFile(file.path) ||
      isCi(file.path) ||
      /^(tox\.ini|noxfile\.py|pyproject\.toml|setup\.cfg|package\.json|Dockerfile|docker-compose.*\.ya?ml)$/.test(
        nameOf(file.path),
      )
    return [...named, ...(isCommands ? lineFindings(file, named.length > 0) : []), ...noVerify(file)]
  })

/** Scripts and targets that have a name, compared one by one. */
function namedFindings(file: ChangedFile): DiffFinding[] {
  const before = namedCommands(file.path, file.before ?? '')
  if (before === undefined) return []
  const after = namedCommands(file.path, file.after ?? '') ?? new Map<string, string>()
  const now = new Set(after.values())
  return [...before].flatMap(([name, command]) => {
    if (!CHECK_NAME.test(name) && !CHECKS.test(command)) return []
    const next = after.get(name)
    const shown = `"${name}" of ${file.path}`
    if (next !== undefined)
      return compareCommand({ name: shown, file: file.path, before: command, after: next, others: after })
    // Under another name it is still there.
    if (now.has(command) || (!CHECK_NAME.test(name) && [...now].some(each => CHECKS.test(each)))) return []
    return [block('script.replaced', `${shown} is gone: ${command.slice(0, 80)}`, { file: file.path })]
  })
}

/** Lines of a script: a check that cannot fail any more, or is not there any more. */
function lineFindings(file: ChangedFile, isTold: boolean): DiffFinding[] {
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  const findings: DiffFinding[] = []
  for (const { line, text } of file.added) {
    const at = { file: file.path, line }
    if (known.has(text.trim())) continue
    if (
      /^\s*-?\s*["']?(continue-on-error|allow_failure|ignore_errors|continueOnError|ignore_outcome)["']?\s*[:=]\s*true/i.test(
        text,
      )
    )
      findings.push(block('script.silenced', `${file.path} lets a step fail unseen: ${text.trim()}`, at))
    const silencer = silencerIn(text.replace(/["',]+\s*$/, ''))
    if (isTold || silencer === undefined) continue
    if (CHECKS.test(text) || (/set \+e/.test(text) && CHECKS.test(file.after ?? '')))
      findings.push(
        block('script.silenced', `A check in ${file.path} cannot fail any more (${silencer}): take that out.`, at),
      )
    else if (/^\s*exit 0\s*$/.test(text) && CHECKS.test(file.after ?? '') && isScriptFile(file.path))
      findings.push(block('script.silenced', `${file.path} ends as if all were well.`, at))
  }
  const early = file.added.find(({ text }) => /^\s*exit 0\s*$/.test(text))
  if (early && !isTold && isScriptFile(file.path) && CHECKS.test(file.after ?? '') && findings.length === 0)
    findings.push(
      block('script.silenced', `${file.path} ends as if all were well.`, { file: file.path, line: early.line }),
    )
  return isTold || findings.length > 0 ? findings : goneLines(file)
}

function goneLines(file: ChangedFile): DiffFinding[] {
  if (file.status !== 'modified' || namedCommands(file.path, '') !== undefined || /\.cfg$/.test(file.path)) return []
  const stops = /^\s*set -\w*e/m
  if (
    isScriptFile(file.path) &&
    stops.test(file.before ?? '') &&
    !stops.test(file.after ?? '') &&
    CHECKS.test(file.after ?? '')
  )
    return [
      block('script.silenced', `${file.path} goes on after a check that failed: bring "set -e" back.`, {
        file: file.path,
      }),
    ]
  const after = file.after ?? ''
  const gone = file.removed.find(({ text }) => {
    const tool = CHECKS.exec(text)?.[0]
    return tool !== undefined && !/^\s*(#|echo|-?\s*name:)/.test(text) && !uncommented(after).includes(tool)
  })
  if (gone === undefined) return []
  return [
    block('script.replaced', `${file.path} does not check any more: ${gone.text.trim().slice(0, 80)}`, {
      file: file.path,
    }),
  ]
}

function uncommented(text: string): string {
  return text
    .split('\n')
    .filter(line => !/^\s*(#|\/\/|- name:|name:|echo )/.test(line))
    .join('\n')
}

function noVerify(file: ChangedFile): DiffFinding[] {
  const found = file.added.find(({ text }) =>
    /--no-verify\b|\bHUSKY=0\b|\bSKIP=\w+ git\b|core\.hooksPath[= ]\/dev\/null/.test(text),
  )
  if (found === undefined || /\.(md|rst|txt|adoc)$/.test(file.path) || file.before?.includes(found.text.trim()))
    return []
  const isRun = isScriptFile(file.path) || isCi(file.path) || nameOf(file.path) === 'package.json'
  if (!isRun) return []
  return [
    block('script.no-verify', `${file.path} goes around hooks: ${found.text.trim().slice(0, 80)}`, {
      file: file.path,
      line: found.line,
    }),
  ]
}
