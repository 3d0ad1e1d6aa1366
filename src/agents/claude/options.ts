import type { Options, Settings } from '@anthropic-ai/claude-agent-sdk'
import type { Marker } from '../../base/process/marker.ts'
import { NEVER_IMPORTED } from '../../domain/agents/claude.ts'
import type { OpenSession } from '../../domain/session.ts'
import type { AgentProcess } from '../agent-process.ts'
import { withSandboxLine } from '../agent-sandbox.ts'
import type { ClaudeGate } from './gate.ts'
import type { ClaudeOwnTools } from './own-tools.ts'

export interface OptionsDeps {
  gate: ClaudeGate
  agent: AgentProcess
  own: ClaudeOwnTools
  executable: string | undefined
  appendPrompt: string | undefined
}

/**
 * The options that Claude Code is started with. Prompt, asks and id are not among them: they come when a session takes the
 * process. Nor are the allowed tools: the vendor would let them through where hooks are off, and the gate does not need them.
 */
export function optionsFor(open: OpenSession, { gate, agent, own, executable, appendPrompt }: OptionsDeps): Options {
  return {
    cwd: open.cwd,
    env: { ...open.env, ...OWN_VARIABLES, ...plannerVariables(open.env) },
    // Set explicitly: without it the mode may become `auto`, where a model decides.
    permissionMode: 'default',
    settingSources: open.settingSources,
    settings: settingsFor(open, agent.marker),
    systemPrompt: { type: 'preset', preset: 'claude_code', append: appendedPrompt(appendPrompt, open) },
    forwardSubagentText: true,
    hooks: gate.hooks(),
    canUseTool: gate.canUseTool,
    spawnClaudeCodeProcess: agent.spawn,
    // Without it a deferred call is offered again on resume before our hook is there to judge it.
    extraArgs: { 'await-initialize': null },
    ...(executable !== undefined && { pathToClaudeCodeExecutable: executable }),
    ...(open.model !== undefined && { model: open.model }),
    ...(open.maxTurns !== undefined && { maxTurns: open.maxTurns }),
    ...(open.tools && { tools: open.tools }),
    disallowedTools: [...TIMERS, ...(open.disallowedTools ?? [])],
    ...own.options(),
    ...(open.strictMcp && { strictMcpConfig: true }),
    ...(open.resume && { resume: open.resume.vendorId, forkSession: open.resume.fork }),
  }
}

/** Tools that wake an agent later. Here nothing does: a turn that is over is a task that is over. They are a tenth of what Claude Code sends. */
const TIMERS = ['ScheduleWakeup', 'CronCreate', 'CronDelete', 'CronList']

const OWN_VARIABLES = {
  /** Minimal mode calls no hook, not even ours. Set explicitly, because the person's own settings may switch it on. */
  CLAUDE_CODE_SIMPLE: '0',
  /** `@path` in a prompt would be read without passing the gate. With this the model sees only the path and reads it with a call. */
  CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
  /** The reliable sign that a turn is over. */
  CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
  /** Subagents run to their end before the turn does, so a turn has one result and leaves nothing running. */
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  /** A start that fails says so as a message and not only on stderr. */
  CLAUDE_CODE_STARTUP_FAILURE_RESULTS: '1',
  /** Our own version pins the agent's version. */
  DISABLE_AUTOUPDATER: '1',
}

/** The todo list is off by default in this version. `TodoWrite` is preferred to the task tools because one call holds the whole plan. */
export function plannerVariables(env: Record<string, string>): Record<string, string> {
  return {
    CLAUDE_CODE_ENABLE_TODO_TOOLS: env['CLAUDE_CODE_ENABLE_TODO_TOOLS'] ?? '1',
    CLAUDE_CODE_ENABLE_TASKS: env['CLAUDE_CODE_ENABLE_TASKS'] ?? '0',
  }
}

/** Variables that make a shell or a program run something else than the command that was judged. */
const HIJACKING = [
  'BASH_ENV',
  'ENV',
  'PROMPT_COMMAND',
  'LD_PRELOAD',
  'LD_AUDIT',
  'LD_LIBRARY_PATH',
  'DYLD_INSERT_LIBRARIES',
  'DYLD_LIBRARY_PATH',
  'NODE_OPTIONS',
  'PERL5OPT',
  'RUBYOPT',
  'PYTHONSTARTUP',
  'CLAUDE_CODE_SHELL_PREFIX',
  'CLAUDE_ENV_FILE',
]
/** These must not be emptied: they keep the caller's values. */
const KEPT = ['PATH', 'SHELL', 'CLAUDE_CODE_SHELL']

/**
 * The settings of the command line win over those of every file. Hooks of settings files run, because they can only refuse:
 * what is executed is the input that `canUseTool` hands out. The one kind of hook that races it, `PermissionRequest`, must be
 * detected by the caller (`hooksOff`). Variables that a project's file could use to slip code into a judged command are
 * pinned to the caller's values.
 */
function settingsFor(open: OpenSession, marker: AgentProcess['marker']): Settings {
  // Shell lines in a skill's text run without a call that could be judged.
  const restrictions = {
    disableSkillShellExecution: true,
    claudeMdExcludes: [...NEVER_IMPORTED],
    ...(open.hooksOff && { disableAllHooks: true }),
  }
  return { ...restrictions, env: pinnedVariables(open, marker) }
}

/** Variables that override those of every settings file. */
export function pinnedVariables({ settingSources, env }: OpenSession, marker: Marker): Record<string, string> {
  const ours = { ...OWN_VARIABLES, [marker.name]: marker.value }
  if (settingSources.every(source => source === 'user')) return ours
  const emptied = HIJACKING.map(name => [name, env[name] ?? ''])
  const kept = KEPT.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]]))
  return { ...Object.fromEntries([...emptied, ...kept]), ...ours }
}

/** Added after Claude Code's own system prompt: the differences from a person at a keyboard. */
const UNATTENDED = `You work unattended under a supervisor, perhaps for hours, and nobody reads along.
- Do the whole task. Do not stop to ask whether to go on; decide small things by yourself and say what you assumed.
- Ask with AskUserQuestion only when a wrong guess would be costly. Give two to four options and put the one you would take first.
- Every tool call is judged before it runs. A refused call is final: read the reason, take the way round that it names or another safe one, and do not try the same thing in other words.
- Keep a todo list when the work has more than a few steps, so that the supervisor can see where you are.
- Run everything in the foreground; processes you leave behind are ended.
- Tools called mcp__pcc__… are the supervisor's. Load one with ToolSearch where it helps: search_code before you read many files, recall before you try what may have failed here, add_task for work that is left.
- When you are done, report in a few lines: what changed, what you ran to check it and what came out, what is left or was refused. Claim only what you have seen. Your report is checked.`

/** Our own text, then the person's addition. */
export function appendedPrompt(more: string | undefined, open: Pick<OpenSession, 'sandbox'>): string {
  return withSandboxLine(UNATTENDED, { open, more })
}
