import type { RoundPlan } from './plan-round.ts'
import type { SessionPlan, StepPlan, Trouble } from './session-plan.ts'

/** How a task is put: the scripted model knows it by these words. */
export function taskText(token: string): string {
  return `Please do ${token} now.`
}

/** The command that notes its token each time it is executed. */
export function workCommand({ token, ms, leaves }: Extract<StepPlan, { do: 'work' }>): string {
  return `sh work.sh ${token} ${(ms / 1000).toFixed(2)}${leaves ? ' leave' : ''}`
}

/** The program of that command: what it writes is read by the runner, past everything that it tests. */
export const WORK_SCRIPT = `echo "begin $1 $(date +%s%3N)" >> ledger
if [ "$3" = leave ]; then setsid sleep 120 > /dev/null 2>&1 & fi
sleep "$2"
echo "end $1 $(date +%s%3N)" >> ledger
echo "did $1"
`

/** The credential of a session: whose allowance it uses. */
export function tokenOf({ account }: SessionPlan): string {
  return `fake-token-${account}`
}

/** What the person says to the question of this token. */
export function answerFor(token: string): string {
  return `plum-${token}`
}

/** How long the vendor refuses: long enough for an agent that is started too early to be seen, on a busy machine as well. */
const RESET_S = 7

/** A try of a session is two requests of its agent; two tries that fail are an outage. */
const OUTAGE_REQUESTS = 4

/** The whole of a round as a scenario of the simulator; JSON is YAML too. `loginFile` is there once the person has logged in again. */
export function scenarioOf({ sessions, run }: RoundPlan, { loginFile }: { loginFile: string }): string {
  const conversations = [...sessions, ...(run ? [run] : [])].flatMap(session => conversationsOf(session, loginFile))
  return JSON.stringify({ conversations })
}

/**
 * A conversation begins with a task in plain words, or with what was restored of one whose transcript is gone; each later
 * task has a script of its own. A prompt that only says to go on goes on with the script at hand.
 */
function conversationsOf({ tasks }: SessionPlan, loginFile: string) {
  const turnsOf = (token: string, steps: StepPlan[]) => [
    ...steps.flatMap(step => turnsOfStep(step, loginFile)),
    { text: endOf(token) },
  ]
  const later = tasks.map(({ token, steps }) => ({ match: { regex: plainly(token) }, turns: turnsOf(token, steps) }))
  const begun = ({ token, steps, mends }: SessionPlan['tasks'][number], regex: string) => ({
    name: token,
    match: { regex },
    turns: [...turnsOf(token, steps), ...(mends ? turnsOf(token, mends) : [])],
    later,
    otherwise: { text: endOf(token) },
  })
  return [
    ...tasks.map(task => begun(task, plainly(task.token))),
    ...tasks.map(task => begun(task, restored('Current task:', task.token))),
    ...tasks.map(task => begun(task, restored("Original task, in the person's words:", task.token))),
  ]
}

/** Recorded words stand behind a bar or in quotation marks, so only a task that is given now begins a line. */
function plainly(token: string): string {
  return `(?:^|\\n)${escaped(taskText(token))}`
}

function restored(heading: string, token: string): string {
  return `${escaped(heading)}\\n\\| ${escaped(taskText(token))}`
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function endOf(token: string): string {
  return `The work on ${token} is complete. Everything was written as described.`
}

/** A model that sees its write cut off writes again; one that claimed all the same to have written would look like lost work. */
function turnsOfStep(step: StepPlan, loginFile: string) {
  const turn = turnOf(step, loginFile)
  if (step.do !== 'write' || !step.insists) return [turn]
  return [turn, { ...turn, when: { tool_failed: true }, repeat: 5 }]
}

function turnOf(step: StepPlan, loginFile: string) {
  const fault = 'trouble' in step && step.trouble ? troubleOf(step.trouble) : {}
  switch (step.do) {
    case 'work':
      return { tools: [{ Bash: { command: workCommand(step), description: 'Work' } }], ...fault }
    case 'write':
      return {
        tools: [
          { Write: { file_path: `{{cwd}}/src/${step.token}.ts`, content: `export const done = '${step.token}'\n` } },
        ],
        ...fault,
      }
    case 'ask':
      return { tools: [{ AskUserQuestion: { questions: [question(step.token)] } }] }
    case 'limit':
      return { fault: { kind: 'limit', window: 'five_hour', resets: `+${step.seconds ?? RESET_S}s`, times: 1 } }
    case 'outage':
      return { fault: { kind: 'overloaded', times: OUTAGE_REQUESTS } }
    case 'login':
      return { fault: { kind: 'unauthorized', until_file: loginFile } }
  }
}

/** A hang of hours is for whoever looks for stalls; this one is over before anybody gives up. */
function troubleOf({ kind, times }: Trouble) {
  return kind === 'stall' ? { latency: { first_ms: times * 1_000 } } : { fault: { kind, times } }
}

function question(token: string) {
  const options = [answerFor(token), `teal-${token}`].map(label => ({ label, description: '' }))
  return { question: `Which hue for ${token}?`, header: 'Hue', multiSelect: false, options }
}
