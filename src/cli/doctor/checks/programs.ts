import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf } from '../../../base/errors.ts'
import { findProgram } from '../../../base/process/find-program.ts'
import { programVersion } from '../../../base/version.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../../../domain/config/agent-env.ts'
import { sessionEnvironment } from '../../session-env.ts'
import { type Check, type Finding, ok, type Patient, problem, warning } from '../finding.ts'

const run = promisify(execFile)

/** Programs answer within milliseconds; the agent starts a whole runtime. */
const PATIENCE_MS = 20_000

export const checkPrograms: Check = async patient => [
  ok('pcc', `version ${programVersion()}, Node ${process.versions.node}`),
  await tool('git', ['--version'], patient, {
    need: problem('git', 'git is not on your PATH', 'Install git: projects and checkpoints need it.'),
  }),
  await tool('tmux', ['-V'], patient, {
    need: warning(
      'tmux',
      'tmux is not on your PATH',
      'Install it if you want sessions that live in a terminal of their own.',
    ),
  }),
  ...(await agent(patient)),
]

async function tool(name: string, args: string[], { env }: Patient, { need }: { need: Finding }): Promise<Finding> {
  if (!findProgram(name, env)) return need
  try {
    const { stdout } = await run(name, args, { timeout: PATIENCE_MS, env: process.env })
    return ok(name, stdout.trim().split('\n')[0] ?? '')
  } catch (error) {
    return problem(name, `it does not run: ${firstLine(error)}`, `Install ${name} anew.`)
  }
}

/** The agent as sessions start it: the program of the settings, in the environment that reaches it. */
async function agent(patient: Patient): Promise<Finding[]> {
  const { places, env, config } = patient
  let program: string
  try {
    program = config?.agents.path ?? (await import('../../../agents/claude/program.ts')).bundledProgram()
  } catch (error) {
    return [problem('agent', firstLine(error), 'Install pcc again: npm i -g perpetualcc')]
  }
  // Settings that cannot be read are told elsewhere; without them the standard list holds.
  const agentEnv = await sessionEnvironment({ places, env, project: process.cwd() }).catch(() =>
    agentEnvironment(env, STANDARD_AGENT_ENV),
  )
  try {
    const { stdout } = await run(program, ['--version'], { timeout: PATIENCE_MS, env: agentEnv })
    return [ok('agent', `${stdout.trim()} at ${program}`), await login(program, agentEnv)]
  } catch (error) {
    return [
      problem('agent', `${program} does not run: ${firstLine(error)}`, 'Correct agents.path, or install pcc again.'),
    ]
  }
}

/** Only whether there is a login, by the agent's own word; no key is looked at. */
async function login(program: string, env: Record<string, string>): Promise<Finding> {
  const none = problem(
    'login',
    'the agent is not logged in',
    'Log in with: pcc agents login (or set ANTHROPIC_API_KEY)',
  )
  try {
    const { stdout } = await run(program, ['auth', 'status', '--json'], { timeout: PATIENCE_MS, env })
    const { loggedIn, authMethod } = JSON.parse(stdout) as { loggedIn?: boolean; authMethod?: string }
    return loggedIn ? ok('login', `logged in (${authMethod ?? 'by a way it does not tell'})`) : none
  } catch (error) {
    // It says "not logged in" with exit code 1, and its words are in the error then.
    const said = (error as { stdout?: string }).stdout ?? ''
    if (said.includes('"loggedIn"')) return none
    return warning(
      'login',
      `the agent does not say whether it is logged in: ${firstLine(error)}`,
      'Try: pcc agents login',
    )
  }
}

function firstLine(error: unknown): string {
  return messageOf(error).split('\n')[0] ?? ''
}
