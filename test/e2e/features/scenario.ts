/** A model that interviews, writes a spec, plans and adds tasks, does them, and judges what was done. */
export const SCENARIO = `
conversations:
  - match: Another agent says that the task below is done
    turns: [{ text: "<verify-pass/>" }]
  - match: You interview a person
    turns:
      - tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
      - tools: [{ mcp__pcc__ask_human: { question: Which colour?, options: [red, blue] } }]
      - text: |
          Thank you.
          <spec>
          # Paint
          The walls are painted.
          ## Open questions
          Shall it shine?
          </spec>
  - match: You write the spec
    turns:
      - text: |
          <spec>
          # Paint
          The walls are painted.
          </spec>
        expect: { prompt_contains: 'make the walls blue' }
  - match: You plan how a feature
    turns:
      - text: |
          <plan>
          # How
          With a brush.
          ## Tasks
          - [ ] Buy paint
          - [ ] Paint the walls
          </plan>
        expect: { prompt_contains: 'The spec:' }
  - match: You turn the plan
    turns:
      - tools:
          - mcp__pcc__add_task: { title: Buy paint, acceptance: [there is paint] }
          - mcp__pcc__add_task: { title: Paint the walls, description: All four., after: [Buy paint] }
      - text: There are 2.
        expect: { tool_failed: false, prompt_contains: 'With a brush.' }
  - match: 'Your task: t-'
    turns:
      - text: Done.
        expect: { prompt_contains: 'The walls are painted.' }
`
