import type { RoundPlan } from './plan-round.ts'
import type { SessionPlan, StepPlan, Trouble } from './session-plan.ts'

/** The text of a task, by which the scripted model recognises it. */
export function taskText(token: string): string {
  return `Please do ${token} now.`
}

/** The command that logs its token each time it is executed. */
export function workCommand({ token, ms, leaves }: Extract<StepPlan, { do: 'work' }>): string {
  return `sh work.sh ${token} ${(ms / 1000).toFixed(2)}${leaves ? ' leave' : ''}`
}

/** The script of that command. The runner reads its log directly, independently of everything under test. */
export const WORK_SCRIPT = `echo "begin $1 $(date +%s%3N)" >> ledger
if [ "$3" = leave ]; then setsid sleep 120 > /dev/null 2>&1 & fi
sleep "$2"
echo "end $1 $(date +%s%3N)" >> ledger
echo "did $1"
`

/** The credential of a session, which determines whose allowance it uses. */
export function tokenOf({ account }: SessionPlan): string {
  return `fake-token-${account}`
}

/** The person's answer to the question of this token. */
export function answerFor(token: string): string {
  return `plum-${token}`
}

/** How long the vendor refuses: long enough to notice an agent that starts too early, even on a busy machine. */
const RESET_S = 7

/** One try of a session makes two requests; two failed tries are an outage. */
const OUTAGE_REQUESTS = 4

/** The whole round as a scenario for the simulator; JSON is valid YAML. `loginFile` exists once the person has logged in again. */
export function scenarioOf({ sessions, run }: RoundPlan, { loginFile }: { loginFile: string }): string {
  const conversations = [...sessions, ...(run ? [run] : [])].flatMap(session => conversationsOf(session, loginFile))
  return JSON.stringify({ conversations })
}

/**
 * A conversation begins with the text of a task, or with the restored context of one whose transcript is gone. Each later
 * task has its own script. A prompt that only says to continue continues the current script.
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

/** Recorded text is quoted or prefixed with a bar, so only a task that is given now begins a line. */
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

/** A model whose write was cut off writes again; if it claimed to have written, that would look like lost work. */
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

/** This stall ends before anybody gives up; the tests for stalls cover longer ones. */
function troubleOf({ kind, times }: Trouble) {
  return kind === 'stall' ? { latency: { first_ms: times * 1_000 } } : { fault: { kind, times } }
}

function question(token: string) {
  const options = [answerFor(token), `teal-${token}`].map(label => ({ label, description: '' }))
  return { question: `Which hue for ${token}?`, header: 'Hue', multiSelect: false, options }
}
