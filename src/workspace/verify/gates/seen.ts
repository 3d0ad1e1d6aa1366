import type { Evidence } from '../../../domain/workspace/evidence.ts'

/** What one gate saw, before it belongs to a task, a round and a tree. */
export type Seen = Pick<
  Evidence,
  'gate' | 'kind' | 'status' | 'command' | 'exit' | 'duration_ms' | 'output' | 'findings' | 'tests' | 'cached'
>

/** A gate that ran no command. */
export function seen(gate: Pick<Seen, 'gate' | 'kind' | 'status'> & Partial<Seen>): Seen {
  return {
    command: null,
    exit: null,
    duration_ms: 0,
    output: '',
    findings: [],
    tests: null,
    cached: false,
    ...gate,
  }
}

/** Failed where something stands in the way, else passed. */
export function statusBy(findings: Seen['findings'], held: Seen['status'] = 'failed'): Seen['status'] {
  return findings.some(({ weight }) => weight === 'block') ? held : 'passed'
}
