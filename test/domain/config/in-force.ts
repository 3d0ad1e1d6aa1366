import type { SettingKey } from '../../../src/domain/config/settings.ts'

/** For each setting in force, the test file that flips it and sees behaviour change. */
export const FLIPPED_BY: Partial<Record<SettingKey, string>> = {
  'sessions.max_concurrent': 'test/daemon/start/waiting-line.test.ts',
  'sessions.auto_resume': 'test/agents/limits/consent.test.ts',
  'sessions.resume_hours': 'test/agents/limits/consent.test.ts',
  'quota.notice_percent': 'test/agents/quota/flips.test.ts',
  'quota.warning_percent': 'test/agents/quota/flips.test.ts',
  'quota.critical_percent': 'test/agents/quota/flips.test.ts',
  'quota.max_tokens_per_hour': 'test/agents/quota/flips.test.ts',
  'quota.gate_on_estimate': 'test/agents/quota/flips.test.ts',
  'quota.ccusage': 'test/agents/quota/flips.test.ts',
  'quota.token_limit': 'test/agents/quota/flips.test.ts',
  'permissions.auto_approve_low_risk': 'test/domain/config/flips-permissions.test.ts',
  'permissions.safe_directories': 'test/domain/config/flips-permissions.test.ts',
  'permissions.blocked_commands': 'test/domain/config/flips-permissions.test.ts',
  'permissions.unattended_high': 'test/daemon/human/parked-permissions.test.ts',
  'brain.confidence_threshold': 'test/domain/config/flips-permissions.test.ts',
  'data.directory': 'test/domain/config/data-directory.test.ts',
  'agents.env': 'test/domain/config/flips-agent.test.ts',
  'agents.setting_sources': 'test/domain/config/flips-agent.test.ts',
  'agents.isolation': 'test/domain/config/flips-agent.test.ts',
  'agents.path': 'test/domain/config/flips-agent.test.ts',
  'agents.append_prompt': 'test/domain/config/flips-agent.test.ts',
  'logs.level': 'test/domain/config/flips-logs.test.ts',
  'logs.max_bytes': 'test/domain/config/flips-logs.test.ts',
  'logs.keep': 'test/domain/config/flips-logs.test.ts',
}
