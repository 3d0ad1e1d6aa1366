/** The task that the person of the demo gives. */
export const DEMO_TASK = 'Write src/slug.js so that the tests pass, commit it, then tidy up.'

/** The files of the demo's project; its tests fail because src/slug.js is missing. */
export const DEMO_FILES: Record<string, string> = {
  'package.json': `{ "name": "slugs", "version": "1.0.0", "type": "module", "scripts": { "test": "node --test" } }\n`,
  'README.md': '# slugs\n\nTurns titles into the last part of an address.\n',
  'test/slug.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug } from '../src/slug.js'

test('a title becomes the last part of an address', () => {
  assert.equal(slug('Hello, World!'), 'hello-world')
  assert.equal(slug('  Twice   spaced '), 'twice-spaced')
})
`,
}

const DEMO_QUESTION = 'What should slug() give for a title without any letters?'
export const DEMO_ANSWER = 'untitled'
const DEMO_TEST_COMMAND = 'node --test'
export const DEMO_COMMIT_MESSAGE = 'Add slug()'
/** The policy refuses it without asking: it is on the list of blocked commands. */
const DEMO_BLOCKED = 'sudo npm install --global slugs'
const DEMO_DANGER = 'rm -rf ../backups'

/** The agent's todo list with the first `done` steps completed. */
function todos(done: number): string {
  const steps = ['Read the tests', 'Write src/slug.js', 'Run the tests'].map((content, index) => ({
    content,
    activeForm: content,
    status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
  }))
  return `          - TodoWrite: ${JSON.stringify({ todos: steps })}`
}

/**
 * The model's part of the demo, served on loopback. It depends on what the agent sends back: the answer to the question
 * shapes the file that is written, and a refused call must come back as failed.
 */
export const DEMO_SCENARIO = `
description: A small job with a question, a commit, something blocked and something dangerous
defaults:
  latency: { first_ms: 350, delta_ms: 15 }
conversations:
  - name: demo
    match: Write src/slug.js
    turns:
      - thinking: The tests say what is wanted, so I read them before I write anything.
        text: I'll read the tests first.
        tools:
${todos(0)}
          - Read: { file_path: "{{cwd}}/test/slug.test.js" }
        usage: { input_tokens: 2100, output_tokens: 85, cache_creation_input_tokens: 14200 }

      - expect: { tool_result_contains: twice-spaced }
        text: The tests leave one case open.
        tools:
          - AskUserQuestion:
              questions:
                - question: ${DEMO_QUESTION}
                  header: Empty title
                  multiSelect: false
                  options:
                    - { label: throw an error, description: Callers must check first }
                    - { label: ${DEMO_ANSWER}, description: Always something that can stand in an address }
        usage: { input_tokens: 900, output_tokens: 140, cache_read_input_tokens: 14200 }

      - expect: { tool_result_contains: ${DEMO_ANSWER} }
        text: Good, a title without letters becomes "${DEMO_ANSWER}".
        tools:
${todos(1)}
          - Write:
              file_path: "{{cwd}}/src/slug.js"
              content: |
                /** Turns a title into the last part of an address. */
                export function slug(title) {
                  const words = title.toLowerCase().match(/[a-z0-9]+/g)
                  return words ? words.join('-') : '${DEMO_ANSWER}'
                }
        usage: { input_tokens: 700, output_tokens: 160, cache_read_input_tokens: 15000 }

      - text: Now the tests.
        tools:
          - Bash: { command: ${DEMO_TEST_COMMAND}, description: Run the tests }
        usage: { input_tokens: 600, output_tokens: 60, cache_read_input_tokens: 15800 }

      - expect: { tool_result_regex: "pass 1|ok 1" }
        text: They pass, so I'll commit.
        tools:
${todos(3)}
          - Bash: { command: "git add src/slug.js && git commit -m '${DEMO_COMMIT_MESSAGE}'", description: Commit }
        usage: { input_tokens: 700, output_tokens: 70, cache_read_input_tokens: 16200 }

      - expect: { tool_result_contains: ${DEMO_COMMIT_MESSAGE} }
        text: Now everybody on this machine should have it.
        tools:
          - Bash: { command: ${DEMO_BLOCKED}, description: Install for all users }
        usage: { input_tokens: 700, output_tokens: 60, cache_read_input_tokens: 16300 }

      - expect: { tool_failed: true }
        text: That is blocked here, so I leave it. I'll remove what lies around outside the project.
        tools:
          - Bash: { command: ${DEMO_DANGER}, description: Remove old backups }
        usage: { input_tokens: 800, output_tokens: 70, cache_read_input_tokens: 16400 }

      - expect: { tool_failed: true }
        text: |
          Done, except for installing it (blocked) and the backups: I was told to leave them alone.

          - **src/slug.js** is new and committed, and its tests pass.
          - A title without letters becomes "${DEMO_ANSWER}", as you chose.
          - ../backups is untouched.
        usage: { input_tokens: 500, output_tokens: 120, cache_read_input_tokens: 17000 }
`
