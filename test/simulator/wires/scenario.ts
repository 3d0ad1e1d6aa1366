/** One conversation for all wires: tools are named as Claude Code names them, and mapped for the others. */
export const WORK = `
tools:
  Bash:
    gemini: { name: run_shell_command, input: { command: '{{input.command}}' } }
    responses: { name: exec_command, input: { cmd: '{{input.command}}' } }
  Write:
    gemini: write_file
    responses:
      name: apply_patch
      input: { input: "*** Begin Patch\\n*** Add File: {{input.file_path}}\\n+{{input.content}}\\n*** End Patch\\n" }
conversations:
  - name: work
    match: do the work
    turns:
      - text: I begin.
        thinking: Let me see.
        tools:
          - Bash: { command: echo one > one.txt; echo made one, description: makes one }
          - Bash: { command: echo two; exit 3 }
        usage: { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 7 }
      - expect: { tool_failed: true, tool_result_contains: made one }
        tools:
          - Write: { file_path: note.txt, content: hello }
      - expect: { tool_failed: false }
        text: All done in {{cwd}}.
    later:
      - match: and more
        turns: [{ text: More is done. }]
`

/** A scenario whose first answer is this fault. */
export function faulty(fault: unknown, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ conversations: [{ name: 'work', match: 'do the work', turns: [{ fault, ...more }] }] })
}
