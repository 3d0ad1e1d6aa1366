import { tomlOf } from '../../../base/toml/edit.ts'
import { standardValues } from '../../../domain/config/config.ts'
import type { ProjectCommand, ProjectFacts } from '../../../domain/project/project-facts.ts'
import { gateCommandsFrom } from '../../../workspace/detect/gate-commands.ts'
import { stamped } from '../files/stamp.ts'
import { oneLine } from './one-line.ts'

/** The text of a new `.perpetualcc.toml`: what was found, and the settings that a project most likely wants, as comments. */
export function settingsText(facts: ProjectFacts): string {
  const parts = [HEAD, found(facts), commands(facts.commands), permissions(facts), SPENDING]
  return stamped(`${parts.filter(Boolean).join('\n\n')}\n\n`, 'toml')
}

const HEAD = `# Settings of this project for pcc. What each does: pcc config show, and docs/config.md of pcc.
#
# A project's file can make pcc stricter for whoever works here. What loosens it, or runs code, counts only after that
# person has looked at it and said: pcc trust
# A line that begins with "#" does nothing. A key that pcc does not know makes the whole file wrong.

version = 1`

/** No numbers that change daily: a file that is brought up to date for nothing is noise in somebody's commit. */
function found({ languages, units, git }: ProjectFacts): string {
  const most = languages.slice(0, 3).map(({ name }) => name)
  const managers = units.map(({ directory, manager, manager_from }) => {
    const where = directory === '.' ? '' : ` in ${oneLine(directory)}`
    return `${manager}${where}, by ${oneLine(manager_from)}`
  })
  const lines = [
    ...(most.length > 0 ? [`languages  ${most.join(', ')}`] : []),
    ...managers.map((text, index) => `${index === 0 ? 'built by ' : '         '}  ${text}`),
    ...(git?.default_branch === undefined ? [] : [`branch     ${git.default_branch}, by ${git.branch_from}`]),
  ]
  return lines.length === 0 ? '' : ['# What pcc init found here:', ...lines.map(line => `#   ${line}`)].join('\n')
}

function commands(all: readonly ProjectCommand[]): string {
  const gates = gateCommandsFrom(all)
  const others = all.filter(({ kind }) => !gates.some(({ gate }) => gate === kind))
  if (gates.length === 0 && others.length === 0) return NO_COMMANDS
  const rows = gates.map(({ gate, run, from, caution }) => {
    const line = `${gate} = ${tomlOf(run)}`
    const about = `# ${oneLine(from)}${caution === undefined ? '' : `; left out because ${caution}`}`
    return `${about}\n${caution === undefined ? line : `# ${line}`}`
  })
  const more = others.map(({ kind, directory, run, from }) => {
    const where = directory === '.' ? '' : ` in ${oneLine(directory)}`
    return `#   ${kind}${where}: ${run}    (${oneLine(from)})`
  })
  const found = more.length === 0 ? [] : ['# Found too, and no gates:', ...more]
  return [...(gates.length === 0 ? [NO_GATES] : [GATES_HEAD, ...rows]), ...found].join('\n')
}

const GATES_HEAD = `# What pcc runs itself, on a named tree, before a task counts as done. It runs code of this project, so it counts only after
# you have looked at it and said: pcc trust. Agents are told the same by .claude/skills/check-your-work.
[gates]`

const NO_GATES = '# No command that builds, checks or tests this project was found: nothing proves that a task is done.'

const NO_COMMANDS = `# No command that builds, checks or tests this project was found. If there is one, write it into
# .claude/skills/check-your-work/SKILL.md, where agents look for it.`

function permissions({ source_directories: own }: ProjectFacts): string {
  const { 'permissions.safe_directories': standard, 'permissions.blocked_commands': blocked } = standardValues()
  const wider = own.filter(name => !standard.includes(name)).map(oneLine)
  const list = tomlOf(own.length > 0 ? own.map(oneLine) : standard)
  const note =
    wider.length === 0
      ? '# Folders in which an agent may write unasked. Fewer than the standard ones count at once.'
      : `# Folders in which an agent may write unasked. ${wider.join(', ')}: not among the standard ones, and counts after pcc trust.`
  return [
    '# [permissions]',
    note,
    `# safe_directories = ${list}`,
    '# Commands that are always refused. Those that are refused everywhere stay so, named here or not.',
    `# blocked_commands = ${tomlOf([...blocked, 'git push'])}`,
    '# What is dangerous, with nobody there: refused at once.',
    '# unattended_high = "deny"',
  ].join('\n')
}

const SPENDING = `# [budgets.task]
# The most that one task may spend; the lower of this and a person's own counts.
# cost_usd = 5
# wall_minutes = 120

# [sessions]
# How many sessions of this project may run at once.
# max_concurrent = 2`
