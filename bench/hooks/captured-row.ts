import type { CapturedRow } from '../../src/domain/hook-capture.ts'

/** An event with an id of its own. */
export function capturedRow(number: number): CapturedRow {
  return {
    at: 1_000 + number,
    subject: 'o-12345678',
    body: {
      ...{ id: `event-${number}`, vendor: 'claude', session: 'c-1', project: '/project' },
      ...{ type: 'tool_use_start', tool_name: 'Bash', parameters: '{"command":"git status --short"}' },
    },
    about: { pid: null, start_time: null, model: null },
  }
}
