import { judgePermission } from '../../src/brain/rules/permission.ts'
import type { Assessment } from '../../src/domain/assessment.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import type { FoundFile } from '../../src/policy/paths/fence.ts'
import { leaveToSandbox } from '../../src/policy/verdict/sandbox.ts'

// Program texts in a small project, judged without a sandbox and in one.

const FILES: Record<string, string> = {
  'sdk/ruby/lib/parcelhub.rb': 'module Parcelhub\n  def self.quote(base) = base\nend\n',
  'sdk/php/src/Client.php': '<?php\nnamespace ParcelHub;\n\nfinal class Client\n{\n}\n',
  'services/notifier/lib/notifier.ex': 'defmodule Notifier do\nend\n',
  'services/worker/worker/queue.py': 'class Queue: pass\n',
  'src/routes/shipments.ts': "import { quote } from '../services/rates.js';\n",
  'CHANGELOG.md': '# Changelog\n',
  'crates/label-render/src/lib.rs': 'fn a() {}\n',
}

const classifier = openClassifier({ realPath: path => path, look })

function look(path: string): FoundFile | undefined {
  const text = FILES[path.replace(/^\/proj\//, '')]
  return text === undefined ? undefined : { is: 'file', bytes: Buffer.from(text) }
}

/** Whether a command passes without a person, without a sandbox and in one. */
export function judge(command: string): { plain: boolean; held: boolean } {
  const request = { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }
  const assessment = classifier.classify(request) as Assessment
  const passes = ({ risk, reasons }: Assessment) => risk !== 'HIGH' && judgePermission({ risk, reasons }).approve
  return { plain: passes(assessment), held: passes(leaveToSandbox(assessment)) }
}

export const inNode = (text: string) => `node -e "${text.replace(/[\\"$`]/g, '\\$&')}"`
export const inPython = (text: string) => `python3 - <<'EOF'\n${text}\nEOF`

/** Those of the commands of which anything passes that should not, or the other way round. */
export const passing = (commands: string[]) => commands.filter(command => judge(command).plain || judge(command).held)
export const stopped = (commands: string[]) => commands.filter(command => !judge(command).plain || !judge(command).held)
export const notHeld = (commands: string[]) => commands.filter(command => !judge(command).held || judge(command).plain)
