f:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 32
	mov	eax, edi
	mov	BYTE PTR -20[rbp], al
	mov	DWORD PTR -4[rbp], 4
	mov	QWORD PTR -16[rbp], 47
	movsx	eax, BYTE PTR -20[rbp]
	cmp	eax, -76
	je	.L2
	cmp	eax, -76
	jg	.L11
	cmp	eax, -78
	je	.L4
	cmp	eax, -78
	jg	.L11
	cmp	eax, -80
	je	.L5
	cmp	eax, -80
	jg	.L11
	cmp	eax, -84
	je	.L6
	cmp	eax, -82
	je	.L7
	jmp	.L11
.L5:
	mov	eax, DWORD PTR -4[rbp]
	mov	rdx, QWORD PTR -16[rbp]
	sub	eax, edx
	mov	DWORD PTR -4[rbp], eax
	cmp	BYTE PTR -20[rbp], 29
	je	.L8
	movsx	eax, BYTE PTR -20[rbp]
	mov	rdx, QWORD PTR -16[rbp]
	add	eax, edx
	mov	DWORD PTR -4[rbp], eax
	mov	edi, 843
	call	g0@PLT
.L8:
	mov	QWORD PTR -16[rbp], 94
	sub	DWORD PTR -4[rbp], 52
	jmp	.L3
.L7:
	sar	DWORD PTR -4[rbp], 4
	jmp	.L3
.L6:
	movsx	eax, BYTE PTR -20[rbp]
	sub	eax, 8
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -4[rbp]
	or	eax, 20
	cdqe
	mov	QWORD PTR -16[rbp], rax
.L2:
	cmp	QWORD PTR -16[rbp], 232
	jg	.L9
	mov	rax, QWORD PTR -16[rbp]
	mov	edi, eax
	call	g0@PLT
	mov	DWORD PTR -4[rbp], eax
	mov	rax, QWORD PTR -16[rbp]
	mov	DWORD PTR -4[rbp], eax
	jmp	.L10
.L9:
	mov	eax, DWORD PTR -4[rbp]
	mov	rdx, QWORD PTR -16[rbp]
	sub	eax, edx
	mov	DWORD PTR -4[rbp], eax
.L10:
	movsx	eax, BYTE PTR -20[rbp]
	mov	edi, eax
	call	h1@PLT
	jmp	.L3
.L4:
	mov	rax, QWORD PTR -16[rbp]
	or	DWORD PTR -4[rbp], eax
	mov	edi, 4
	call	g0@PLT
	movsx	rax, BYTE PTR -20[rbp]
	mov	rdi, rax
	call	g2@PLT
	mov	DWORD PTR -4[rbp], eax
	movsx	eax, BYTE PTR -20[rbp]
	mov	DWORD PTR -4[rbp], eax
	nop
.L3:
.L11:
	nop
	leave
	ret
	.size	f, .-f
